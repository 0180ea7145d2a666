// Scales by powers of ten for the pictures of the panel, and their numbers in words. Pure.

export const WIDTH = 560;
export const HEIGHT = 260;
export const LEFT = 56;
export const RIGHT = 16;
export const TOP = 14;
export const BOTTOM = 40;

export interface Scale {
  low: number;
  high: number;
}

/** A whole number of powers of ten around the numbers. */
export function scaleOf(numbers: number[]): Scale {
  const logs = numbers.filter((number) => number > 0).map(Math.log10);
  const low = Math.floor(Math.min(...logs));
  return { low, high: Math.max(Math.ceil(Math.max(...logs)), low + 1) };
}

export function at(scale: Scale, number: number): number {
  return (Math.log10(number) - scale.low) / (scale.high - scale.low);
}

/** Three digits, and no power of ten. */
export function short(number: number): string {
  return number >= 100 ? number.toFixed(0) : String(Number(number.toPrecision(3)));
}

export function ticks(scale: Scale, place: (number: number) => string): string {
  const lines: string[] = [];
  for (let power = scale.low; power <= scale.high; power++) lines.push(place(10 ** power));
  return lines.join("");
}

export function powerText(number: number): string {
  return number >= 1 ? String(number) : number.toPrecision(1);
}
