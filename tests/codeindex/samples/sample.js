import fs, { readFile as read } from "node:fs";
import * as path from "node:path";
import "./side-effect.js";
const http = require("http");
const { join, sep: separator } = require("path");

export const LIMIT = 10;
export let counter = 0, total = 1;
const hidden = { inner() { return 1; }, arrow: () => 2, plain: 3 };

export function plain(a, b) {
  function nested() {}
  const local = 1;
  return local;
}
export const arrow = async (x) => x;
const named = function namedInside() {};
export default class Widget extends Base {
  static kind = "widget";
  #secret = 1;
  handler = () => {};
  constructor(a) { super(a); this.a = a; }
  get size() { return 1; }
  set size(v) {}
  static async load() { return import("./lazy.js"); }
  #hide() {}
}
function* generate() {}
exports.left = function () {};
module.exports.right = 1;
module.exports = { Widget, helper: plain };
Widget.prototype.grow = function () {};
Widget.shrink = () => {};
export { plain as renamed, arrow };
export { other, thing as default } from "./other.js";
export * from "./all.js";
export * as space from "./space.js";
var oldStyle = 1;
const text = "function fake() {}"; // class Fake {}
