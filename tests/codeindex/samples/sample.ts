import type { Shape } from "./shape";
import Default, { type A, B as C } from "./mixed";
import legacy = require("legacy");

export interface Point extends Shape {
  x: number;
  readonly y?: number;
  distance(other: Point): number;
}
export type Pair<T> = [T, T];
export enum Color { Red, Green = "green" }
const enum Hidden { One }
export declare function declared(a: string): void;
export namespace Geometry {
  export const ORIGIN = 0;
  export function area(): number { return 0; }
}
declare module "ambient" {
  export function inside(): void;
}
export abstract class Figure<T> implements Point {
  private static count = 0;
  readonly name: string = "";
  constructor(private readonly width: number, public height = 1) {}
  abstract area(): number;
  protected get size(): number { return 1; }
  scale(by: number): void;
  scale(by: string): void;
  scale(by: unknown): void {}
}
export function overload(a: string): void;
export function overload(a: number): void;
export function overload(a: unknown): void {}
export const make = <T,>(value: T): T => value;
export default function main() {}
export type { Pair as Couple };
export = legacy;

/**
 * A service.
 *
 * @see other
 */
@Injectable({ root: true })
export class Service extends Figure<string> implements Point, Other {
  // Starts it.
  @Log()
  async start(): Promise<void> {}
}
