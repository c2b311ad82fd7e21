// Definitions and imports of JavaScript and TypeScript by the TypeScript compiler's own parser and resolver.
// node typescript.cjs TYPESCRIPT ROOT < a path on each line
const path = require("path");
const fs = require("fs");
const [, , compiler, root] = process.argv;
const ts = require(compiler);

const configs = new Map();
function optionsFor(file) {
  let folder = path.dirname(file);
  for (;;) {
    for (const name of ["tsconfig.json", "jsconfig.json"]) {
      const config = path.join(folder, name);
      if (configs.has(config)) return configs.get(config);
      if (fs.existsSync(config)) {
        const read = ts.readConfigFile(config, ts.sys.readFile);
        const host = { ...ts.sys, readDirectory: () => [] };
        const { options } = ts.parseJsonConfigFileContent(read.config || {}, host, folder, undefined, config);
        const own = { ...options, allowJs: true, resolveJsonModule: true };
        own.moduleResolution ??= ts.ModuleResolutionKind.Node10;
        configs.set(config, own);
        return own;
      }
    }
    if (folder === root || folder === path.dirname(folder)) break;
    folder = path.dirname(folder);
  }
  return { allowJs: true, resolveJsonModule: true, moduleResolution: ts.ModuleResolutionKind.Node10 };
}

const isRequire = (node) =>
  node && ts.isCallExpression(node) && node.arguments.length && ts.isStringLiteralLike(node.arguments[0]) &&
  ((ts.isIdentifier(node.expression) && node.expression.text === "require") ||
    (ts.isPropertyAccessExpression(node.expression) && node.expression.getText() === "require.resolve"));
const isFunction = (node) => node && (ts.isArrowFunction(node) || ts.isFunctionExpression(node));

function read(file) {
  const kind = /\.[cm]?jsx?$/.test(file) ? ts.ScriptKind.JSX : file.endsWith(".tsx") ? ts.ScriptKind.TSX : undefined;
  const source = ts.createSourceFile(file, fs.readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true, kind);
  const definitions = [];
  const imports = [];
  const lineOf = (node) => source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
  const define = (name) => {
    if (!name || ts.isComputedPropertyName(name)) return;
    if (ts.isObjectBindingPattern(name) || ts.isArrayBindingPattern(name)) {
      for (const element of name.elements) if (!ts.isOmittedExpression(element)) define(element.name);
      return;
    }
    definitions.push([lineOf(name), name.text ?? name.getText()]);
  };
  const take = (specifier, node) => imports.push([lineOf(node), specifier.text]);
  const visit = (node, inFunction) => {
    let inner = inFunction;
    const member = ts.isPropertySignature(node) || ts.isMethodSignature(node);
    if (ts.isFunctionLike(node)) {
      inner = true;
      if (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isAccessor(node)) define(node.name);
      if (ts.isConstructorDeclaration(node)) definitions.push([lineOf(node.getChildren().find((c) => c.kind === ts.SyntaxKind.ConstructorKeyword) ?? node), "constructor"]);
    }
    if (ts.isClassStaticBlockDeclaration(node)) inner = true;
    if (member && (ts.isInterfaceDeclaration(node.parent) || ts.isTypeAliasDeclaration(node.parent.parent))) define(node.name);
    if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isEnumDeclaration(node)) define(node.name);
    if (ts.isEnumMember(node)) define(node.name);
    if (ts.isPropertyDeclaration(node)) define(node.name);
    if (ts.isVariableDeclaration(node) && ts.isVariableDeclarationList(node.parent)) {
      const loop = ts.isForInStatement(node.parent.parent) || ts.isForOfStatement(node.parent.parent);
      const value = node.initializer;
      const required = isRequire(value) || (value && ts.isPropertyAccessExpression(value) && isRequire(value.expression));
      const holds = isFunction(value) || (value && ts.isClassExpression(value));
      if (!loop && !required && (!inFunction || holds)) define(node.name);
    }
    if (ts.isPropertyAssignment(node) && isFunction(node.initializer)) define(node.name);
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
        ts.isPropertyAccessExpression(node.left) && (isFunction(node.right) || ts.isClassExpression(node.right))) define(node.left.name);
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier) take(node.moduleSpecifier, node);
    if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) take(node.moduleReference.expression, node);
    if (isRequire(node)) take(node.arguments[0], node);
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword && node.arguments[0] && ts.isStringLiteralLike(node.arguments[0])) take(node.arguments[0], node);
    ts.forEachChild(node, (child) => visit(child, inner));
  };
  visit(source, false);
  return { definitions, imports };
}

const cut = (file) => path.relative(root, fs.realpathSync(file)).split(path.sep).join("/");
for (const name of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const file = path.join(root, name);
  const found = read(file);
  const options = optionsFor(file);
  const resolved = found.imports.map(([line, spec]) => {
    const { resolvedModule } = ts.resolveModuleName(spec, file, options, ts.sys);
    const target = resolvedModule && cut(resolvedModule.resolvedFileName);
    return [line, spec, target && !target.startsWith("..") && !target.includes("node_modules/") ? target : ""];
  });
  console.log(JSON.stringify({ file: name, definitions: found.definitions, imports: resolved }));
}
