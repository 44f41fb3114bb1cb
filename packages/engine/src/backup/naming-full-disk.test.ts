/** Which disk is named as full. */
import { SheafError } from "@sheaf/protocol";
import { expect, it } from "vitest";
import { storageFull } from "../storage/folder/disk-space.ts";
import { namingFullDisk } from "./naming-full-disk.ts";

it("is that of the folder, unless another one has been named", () => {
  const named = namingFullDisk("/spool", storageFull(": 1.0 MB are free"));
  expect(named).toMatchObject({ message: "the disk of /spool is full: 1.0 MB are free" });
  expect(namingFullDisk("/backup", named)).toBe(named);
  const archive = new SheafError("storage_full", "the disk of the archive is full: see the log");
  expect(namingFullDisk("/backup", archive)).toBe(archive);
  const none = Object.assign(new Error("no space"), { code: "ENOSPC" });
  expect(namingFullDisk("/backup", none)).toMatchObject({ message: "the disk of /backup is full" });
});
