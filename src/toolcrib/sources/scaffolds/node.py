"""A new tool in JavaScript, for Node.js."""

TEMPLATE = r"""#!/usr/bin/env node
// @NAME@: a tool, started with one --name=value word for each argument. What it prints is its answer.

import process from "node:process";

// The arguments: type, and whether it must be there. The same stands in tool.yaml, for the model and the gate.
const PARAMETERS = new Map([
@PARAMETERS@]);

// The answer as text. Throw an Error, with words for the model, for what cannot be done.
function answer(args, workspace) {
  // TODO: do the work here. Paths are meant from the workspace, which is the working directory too.
  const lines = ["@NAME@ works."];
  for (const [name, value] of args) {
    lines.push(`${name}: ${value}`);
  }
  return lines.join("\n");
}

function writeOutput(text) {
  process.stdout.write(`${text}\n`);
}

function readArguments(words) {
  const args = new Map();
  for (const word of words) {
    const at = word.indexOf("=");
    const name = word.slice(2, at);
    if (!word.startsWith("--") || at < 0 || !PARAMETERS.has(name)) {
      const known = [...PARAMETERS.keys()].join(", ") || "none";
      throw new Error(`${JSON.stringify(word.slice(0, 80))} is no argument of this tool; it has: ${known}`);
    }
    args.set(name, readValue(name, PARAMETERS.get(name).type, word.slice(at + 1)));
  }
  for (const [name, { required }] of PARAMETERS) {
    if (required && !args.has(name)) {
      throw new Error(`--${name}=... is missing`);
    }
  }
  return args;
}

function readValue(name, type, text) {
  if (type === "string") {
    return text;
  }
  if (type === "number" && /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text)) {
    return Number(text);
  }
  if (type === "boolean" && (text === "true" || text === "false")) {
    return text === "true";
  }
  throw new Error(`--${name}=${JSON.stringify(text.slice(0, 80))} is not a ${type}`);
}

function main(words) {
  let args;
  try {
    args = readArguments(words);
  } catch (error) {
    process.stderr.write(`@NAME@: ${error.message}\n`);
    return 2;
  }
  const workspace = process.env.TOOLCRIB_WORKSPACE || process.env.FORGE_WORKSPACE || process.cwd();
  try {
    writeOutput(answer(args, workspace));
  } catch (error) {
    process.stderr.write(`@NAME@: ${error.message}\n`);
    return 1;
  }
  return 0;
}

process.exitCode = main(process.argv.slice(2));
"""
