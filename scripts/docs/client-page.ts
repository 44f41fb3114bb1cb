/** The reference page of the TypeScript client, from its exports and the comments above them. Read as text: no types are resolved. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const SOURCES = new URL("../../packages/client/src/", import.meta.url);

type Declaration =
  | ts.ClassDeclaration
  | ts.FunctionDeclaration
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.VariableStatement;

interface Export {
  readonly name: string;
  readonly declarations: readonly Declaration[];
}

export function clientPage(): string {
  const exported = readExports();
  const only = (wanted: (declaration: Declaration) => boolean): readonly Export[] =>
    exported.filter(({ declarations }) => declarations.some(wanted)).toSorted(byName);
  const isError = ({ name }: Export): boolean => name.endsWith("Error");
  const classes = only(ts.isClassDeclaration);
  const main = ["SheafClient", "Collection", "Pages"];
  const [first, others] = [true, false].map((is) => classes.filter(({ name }) => main.includes(name) === is));
  return [
    "# The TypeScript client: reference",
    "",
    "Everything that `@sheaf/client` exports. The [guide](../guide/typescript-client.md) says how it is used. This page is generated from the code by `npm run docs`.",
    ...(first ?? []).toSorted((a, b) => main.indexOf(a.name) - main.indexOf(b.name)).flatMap(classSection),
    ...["", "## Builders", ""],
    ...only(
      (declaration) => ts.isFunctionDeclaration(declaration) || ts.isVariableStatement(declaration),
    ).flatMap(({ declarations }) => declarations.flatMap(callable)),
    ...(others ?? []).filter((item) => !isError(item)).flatMap(classSection),
    ...["", "## Errors", ""],
    ...(others ?? []).filter(isError).flatMap(({ declarations }) => declarations.flatMap(errorLine)),
    ...["", "## Types", "", "```ts"],
    ...only(
      (declaration) => ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration),
    ).flatMap(({ declarations }, i) => [...(i === 0 ? [] : [""]), ...declarations.map(sourceOf)]),
    "```",
    "",
  ].join("\n");
}

function byName(a: Export, b: Export): number {
  return a.name < b.name ? -1 : 1;
}

/** What `index.ts` hands on, with the declarations it has in its file. */
function readExports(): readonly Export[] {
  return parse("index.ts").statements.flatMap((statement): readonly Export[] => {
    if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier === undefined) return [];
    const file = parse((statement.moduleSpecifier as ts.StringLiteral).text);
    const names = (statement.exportClause as ts.NamedExports).elements.map((element) => element.name.text);
    return names.map((name) => ({
      name,
      declarations: file.statements.filter((node) => declares(node, name)) as Declaration[],
    }));
  });
}

function parse(path: string): ts.SourceFile {
  const text = readFileSync(fileURLToPath(new URL(path, SOURCES)), "utf8");
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

function declares(node: ts.Statement, name: string): boolean {
  if (ts.isVariableStatement(node))
    return node.declarationList.declarations.some((one) => one.name.getText() === name);
  const isNamed =
    ts.isClassDeclaration(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node);
  return isNamed && node.name?.text === name;
}

function classSection({ name, declarations }: Export): readonly string[] {
  const [declaration] = declarations;
  if (declaration === undefined || !ts.isClassDeclaration(declaration)) return [];
  const types = declaration.typeParameters?.map((parameter) => parameter.getText()).join(", ");
  const members = declaration.members.filter(
    (member) => isPublic(member) && hasNoOverloads(member, declaration),
  );
  return [
    ...["", `## ${name}${types === undefined ? "" : ` \`<${types}>\``}`, ""],
    ...comment(declaration, ""),
    "",
    ...members.flatMap((member) => [`- \`${signature(member)}\``, ...comment(member, "  ")]),
  ];
}

/** An implementation below overloads says nothing to callers. */
function hasNoOverloads(member: ts.ClassElement, { members }: ts.ClassDeclaration): boolean {
  if (!ts.isMethodDeclaration(member) || member.body === undefined) return true;
  return !members.some(
    (other) =>
      ts.isMethodDeclaration(other) &&
      other.body === undefined &&
      other.name.getText() === member.name.getText() &&
      !(ts.getCombinedModifierFlags(other) & ts.ModifierFlags.Abstract),
  );
}

function isPublic(member: ts.ClassElement): boolean {
  if (comment(member, "").some((line) => line.startsWith("@internal"))) return false;
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected | ts.ModifierFlags.Ambient;
  if ((ts.getCombinedModifierFlags(member) & hidden) !== 0) return false;
  return member.name === undefined || !ts.isPrivateIdentifier(member.name);
}

/** Without body and initial value, in one line. */
function signature(node: ts.ClassElement | ts.FunctionDeclaration): string {
  const { body, initializer } = node as { readonly body?: ts.Node; readonly initializer?: ts.Node };
  const [start, end] = [node.getStart(), (body ?? initializer)?.getStart() ?? node.end];
  return node
    .getSourceFile()
    .text.slice(start, end)
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/([([<]) | (?=[)\]>])(?<!=> )|,(?= ?[)\]>])/gu, "$1")
    .replace(/[\s;=]+$/u, "")
    .replace(/^(?:export |async |override |readonly )*(?:function )?(?:async )?/u, "");
}

function callable(declaration: Declaration): readonly string[] {
  if (ts.isFunctionDeclaration(declaration))
    return [`- \`${signature(declaration)}\``, ...comment(declaration, "  ")];
  if (!ts.isVariableStatement(declaration)) return [];
  const names = declaration.declarationList.declarations.map((one) => `- \`${one.name.getText()}\``);
  return [...names, ...comment(declaration, "  ")];
}

function errorLine(declaration: Declaration): readonly string[] {
  if (!ts.isClassDeclaration(declaration)) return [];
  const parent = declaration.heritageClauses?.[0]?.types[0]?.expression.getText() ?? "";
  const fields = declaration.members.filter((member) => isPublic(member) && ts.isPropertyDeclaration(member));
  return [
    `- \`${declaration.name?.text} extends ${parent}\``,
    ...comment(declaration, "  "),
    ...fields.flatMap((field) => [`  - \`${signature(field)}\``, ...comment(field, "    ")]),
  ];
}

/** With the comments in it, and the one above. */
function sourceOf(declaration: Declaration): string {
  const { text } = declaration.getSourceFile();
  const [above] = ts.getLeadingCommentRanges(text, declaration.pos)?.slice(-1) ?? [];
  const start = above !== undefined && text.startsWith("/**", above.pos) ? above.pos : declaration.getStart();
  return text.slice(start, declaration.end).replaceAll(/^export /gmu, "");
}

/** The comment above a declaration: sentences, and examples as code. */
function comment(node: ts.Node, indent: string): readonly string[] {
  const { text } = node.getSourceFile();
  const [above] = ts.getLeadingCommentRanges(text, node.pos)?.slice(-1) ?? [];
  if (above === undefined || !text.startsWith("/**", above.pos)) return [];
  const lines = text
    .slice(above.pos + 3, above.end - 2)
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/u, "").trimEnd());
  const [words = "", ...examples] = lines
    .join("\n")
    .trim()
    .split(/^@example\n/mu);
  const sentences = words
    .trim()
    .split(/\n(?=@)|\n\n/u)
    .map((part) =>
      part
        .replaceAll("\n", " ")
        .replace(/^@(?:param|typeParam) (\w+) /u, "`$1`: ")
        .replace(/^@throws /u, "Throws "),
    )
    .filter((part) => part !== "");
  return [
    ...sentences.flatMap((sentence, i) => [...(i === 0 ? [] : [""]), `${indent}${sentence}`]),
    ...examples.flatMap((example) =>
      ["", "```ts", ...example.trim().split("\n"), "```"].map((line) =>
        line === "" ? "" : `${indent}${line}`,
      ),
    ),
  ];
}
