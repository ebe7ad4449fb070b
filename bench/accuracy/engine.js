// What TypeScript itself says: every declaration of the files, and the references to some of them.
// usage: node engine.js TYPESCRIPT_FOLDER < {"files": [...], "ask": [[file, line, column], ...], "conditions": [...]}
"use strict";
const fs = require("fs");
const ts = require(process.argv[2] + "/lib/typescript.js");
const { files, ask, conditions } = JSON.parse(fs.readFileSync(0, "utf8"));
const K = ts.SyntaxKind;

const KINDS = {
  [K.FunctionDeclaration]: "function", [K.ClassDeclaration]: "class", [K.InterfaceDeclaration]: "interface",
  [K.TypeAliasDeclaration]: "type", [K.EnumDeclaration]: "enum", [K.EnumMember]: "constant",
  [K.ModuleDeclaration]: "namespace", [K.MethodDeclaration]: "method", [K.MethodSignature]: "method",
  [K.PropertyDeclaration]: "field", [K.PropertySignature]: "property", [K.GetAccessor]: "property",
  [K.SetAccessor]: "property", [K.Constructor]: "constructor", [K.VariableDeclaration]: "variable",
  [K.BindingElement]: "variable", [K.Parameter]: "parameter", [K.TypeParameter]: "type parameter",
  [K.PropertyAssignment]: "object property", [K.ShorthandPropertyAssignment]: "object property",
  [K.ImportClause]: "import", [K.ImportSpecifier]: "import", [K.NamespaceImport]: "import",
  [K.ImportEqualsDeclaration]: "import", [K.ExportSpecifier]: "export", [K.NamespaceExport]: "export",
};
const CALLABLE = new Set([K.FunctionDeclaration, K.MethodDeclaration, K.MethodSignature, K.Constructor]);
const FUNCTIONS = new Set([K.ArrowFunction, K.FunctionExpression]);

function isFunction(node) {
  return ts.isFunctionLike(node) || node.kind === K.ClassStaticBlockDeclaration;
}

// Where a declaration stands: "local" (inside a function), "nameless" (in a type or class that has no name), or "".
function place(node) {
  let inner = node;
  for (let outer = node.parent; outer; inner = outer, outer = outer.parent) {
    if (isFunction(outer) && outer !== node) return "local";
    if ([K.ForStatement, K.ForOfStatement, K.ForInStatement, K.CatchClause].includes(outer.kind)) return "local";
    const nested = ts.isInterfaceDeclaration(outer) || ts.isClassLike(outer) || ts.isEnumDeclaration(outer)
      || ts.isTypeAliasDeclaration(outer);
    if (nested) {
      if (ts.isClassExpression(outer) && !ts.isVariableDeclaration(outer.parent)) return "nameless";
      return "";
    }
    if (ts.isTypeLiteralNode(outer)) {
      let holder = outer.parent;
      while (holder && !ts.isTypeAliasDeclaration(holder) && !ts.isPropertySignature(holder) && !ts.isStatement(holder)
             && !ts.isPropertyDeclaration(holder) && !isFunction(holder) && !ts.isInterfaceDeclaration(holder)
             && !ts.isClassLike(holder)) holder = holder.parent;
      if (!holder || !(ts.isTypeAliasDeclaration(holder) || ts.isPropertySignature(holder) || ts.isPropertyDeclaration(holder)))
        return "nameless";
    }
  }
  return "";
}

function nameOf(node) {
  if (node.kind === K.Constructor) {
    const word = node.getChildren().find((child) => child.kind === K.ConstructorKeyword);
    return word && ["constructor", word.getStart()];
  }
  const name = node.name;
  if (!name || ts.isObjectBindingPattern(name) || ts.isArrayBindingPattern(name) || ts.isComputedPropertyName(name)) return;
  return [name.text === undefined ? name.getText() : name.text, name.getStart()];
}

function kindOf(node) {
  let kind = KINDS[node.kind];
  if (kind === "parameter" && ts.isParameterPropertyDeclaration(node, node.parent)) return "field";
  const value = node.initializer;
  if (kind === "variable" && value && FUNCTIONS.has(value.kind)) return "function";
  if (kind === "variable" && value && value.kind === K.ClassExpression) return "class";
  if (kind === "object property" && value && FUNCTIONS.has(value.kind)) return "method";
  return kind;
}

function declarations(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found = [];
  (function visit(node) {
    const kind = kindOf(node), name = kind && nameOf(node);
    if (name && name[0]) {
      const at = source.getLineAndCharacterOfPosition(name[1]);
      let where = place(node);
      if (kind === "field" && node.kind === K.Parameter) where = "";
      const group = CALLABLE.has(node.kind) ? node.parent.pos + " " + name[0] : "";
      found.push([name[0], kind, at.line + 1, at.character, where, group, Boolean(node.body)]);
    }
    ts.forEachChild(node, visit);
  })(source);
  // Overloads are one function: the one with a body, or else the first.
  const whole = new Set(found.filter((item) => item[6]).map((item) => item[5]));
  const kept = found.filter(([, , , , , group, body]) => {
    if (!group || body) return true;
    if (whole.has(group)) return false;
    whole.add(group);
    return true;
  });
  return kept.map((item) => item.slice(0, 5));
}

const texts = new Map(files.map((file) => [file, fs.readFileSync(file, "utf8")]));
const answer = { version: ts.version, definitions: {}, references: [] };
if (!ask.length) for (const [file, text] of texts) answer.definitions[file] = declarations(file, text);
else {
  const host = {
    getScriptFileNames: () => files, getScriptVersion: () => "1", getCurrentDirectory: () => "/",
    getScriptSnapshot: (file) => texts.has(file) ? ts.ScriptSnapshot.fromString(texts.get(file))
      : fs.existsSync(file) ? ts.ScriptSnapshot.fromString(fs.readFileSync(file, "utf8")) : undefined,
    getCompilationSettings: () => ({ allowJs: true, target: ts.ScriptTarget.Latest, module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext, strict: true, skipLibCheck: true, customConditions: conditions }),
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: ts.sys.fileExists, readFile: ts.sys.readFile, readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists, getDirectories: ts.sys.getDirectories,
  };
  const service = ts.createLanguageService(host);
  const program = service.getProgram();
  for (const [file, line, column] of ask) {
    const source = program.getSourceFile(file);
    const position = source.getPositionOfLineAndCharacter(line - 1, column);
    const places = [];
    for (const group of service.findReferences(file, position) || [])
      for (const one of group.references) {
        const where = program.getSourceFile(one.fileName);
        const at = where.getLineAndCharacterOfPosition(one.textSpan.start);
        places.push([one.fileName, at.line + 1, at.character, where.text.substr(one.textSpan.start, one.textSpan.length)]);
      }
    answer.references.push(places);
  }
}
process.stdout.write(JSON.stringify(answer));
