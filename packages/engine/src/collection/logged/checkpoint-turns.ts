/**
 * Who writes checkpoints of collections whose records this server does not have: each keeps what the log has changed on the disk
 * meanwhile, so a few do at a time. Each tenant has one of them, and no tenant waits for what another one has begun twice.
 */
import { type CancelSignal, abortable } from "@sheaf/protocol";
import { Slots } from "../../storage/objects/slots.ts";
import { TenantSlots } from "./tenant-slots.ts";

/** Of all tenants: as many logs lie on the disk once more. */
const AT_ONCE = 4;

export class CheckpointTurns {
  readonly #all = new Slots(AT_ONCE);
  readonly #own = new TenantSlots(1);

  /** Until it is their turn. Resolves to what ends that, which may be called again. */
  async enter(tenant: string, signal: CancelSignal): Promise<() => void> {
    const entered = this.#enter(tenant);
    try {
      return await abortable(entered, signal);
    } catch (error) {
      void entered.then((leave) => leave());
      throw error;
    }
  }

  #enter(tenant: string): Promise<() => void> {
    return new Promise((resolve) => {
      const turn = (): Promise<void> => new Promise((leave) => resolve(leave));
      void this.#own.run(tenant, () => this.#all.run(turn));
    });
  }
}
