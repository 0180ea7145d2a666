// What the extension and tad-lsp say to each other beyond LSP: commands (workspace/executeCommand), one notification, their shapes.
// Names inside results are as the server writes them. Everything that may lack is optional, so that older servers work.
import type { Range } from "vscode-languageserver-types";

/** Commands of the server. The language client registers them in VS Code while the server runs. */
export const serverCommands = {
  /** [{ uri, kernel, where? }]: the server edits. The extension shows a preview instead, see backward.ts. */
  generateBackward: "tad.generateBackward",
  /** [{ uri, kernel }] -> GradientStatus, after the check ended; cancellable. */
  checkGradients: "tad.checkGradients",
  /** [{ uri, kernel }]: the server opens the first kernel of the backward, or the forward. */
  goToBackward: "tad.goToBackward",
  goToForward: "tad.goToForward",
  /** [{ uri, kernel }]: the server says what the last check found. The extension shows the panel instead. */
  showResult: "tad.showResult",
  /** [{ uri }] -> GradientStatus[]; cancellable. */
  checkAllGradients: "tad.checkAllGradients",
  /** [{ uri, kernel?, where? }] -> BackwardPreview: what "Generate backward" would write. */
  backwardPreview: "tad.backwardPreview",
  /** [{ uri }] -> KernelEntry[]: the kernels of a file, open or not. */
  kernels: "tad.kernels",
  /** [{ uri, kernel }] -> Schedule. */
  schedule: "tad.schedule",
  /** [{ uri, position }] -> Access | null: what the load or store at a place touches. */
  access: "tad.access",
  /** [{ name }] -> the page of a diagnostic or an operation, Markdown. */
  explain: "tad.explain",
  /** [{ uri, kernel }]: forward and backward on the GPU; the lens shows what came out. Cancellable. */
  timeKernel: "tad.timeKernel",
  /** [{ uri, kernel }]: the fastest blocks, warps and stages; the server edits the list of autotune. Cancellable. */
  tuneKernel: "tad.tuneKernel",
  /** [{ uri, kernel }]: a model is asked, and the server edits what is proved. Cancellable. */
  askModel: "tad.askModel",
  /** [{ uri, kernel, top_k?, min_sim?, exclude? }] -> SimilarKernel[], the nearest first. */
  similarKernels: "tad.similarKernels",
} as const;

/** Notification of the server: a GradientStatus whenever one changes. */
export const gradientStatusMethod = "tad/gradientStatus";

export interface KernelPlace {
  uri: string;
  kernel: string;
  where?: "file" | "below";
}

export type CheckState =
  | "unchecked"
  | "running"
  | "proved"
  | "failed"
  | "unproved"
  | "refused"
  | "not-differentiable";

/** One gradient of a check; `error` is relative, null where nothing was compared or what was is not finite. */
export interface InputResult {
  name: string;
  error: number | null;
  directions: number;
  worst: { index: number[]; expected: number; actual: number } | null;
}

/** One choice of sizes and options that the check ran, or gave up. */
export interface Configuration {
  text: string;
  source?: string;
  status?: string;
  reason?: string;
}

export interface GradientStatus {
  uri: string;
  kernel: string;
  version?: number | null;
  status: CheckState;
  reason?: string;
  worst_error?: number | null;
  seconds?: number;
  stale?: boolean;
  /** Of a running check: it waits for a worker; how far it is. */
  waiting?: boolean;
  percent?: number;
  inputs?: InputResult[];
  /** Of directions along several inputs at once; with those of the inputs the largest is `worst_error`. */
  together?: { error: number | null; directions: number };
  dot_test?: number | null;
  configurations?: Configuration[];
  discarded?: Configuration[];
  /** What the configurations had, and what could not be had, in one line. */
  covered?: string;
  /** How far the gradients are off in the element types of the launch, in one line; null where nothing was proved. */
  own_types?: { words: string } | null;
  /** Where a failure is shown; else at the kernel's name. */
  range?: Range;
}

/** A kernel of a file, with what is known of its gradients. */
export interface KernelEntry extends GradientStatus {
  /** Of the name. */
  range: Range;
}

/** A kernel where it stood when it was indexed. */
export interface NamedPlace {
  name: string;
  uri: string;
  range: Range;
}

export interface SimilarKernel extends NamedPlace {
  /** 0 to 1. */
  similarity: number;
  /** Near duplicates that are not listed. */
  copies?: number;
  backwards?: NamedPlace[];
}

export interface BackwardPreview {
  kernel?: string;
  /** Where the text would go. */
  uri: string;
  /** The whole of that file afterwards. */
  text: string;
  /** Set when the rules refuse: one sentence; `text` is empty then. */
  refusal?: string;
  /** Of a module that is updated: the first line that changes, places to be decided and the line of the first, what to tell. */
  first?: number;
  conflicts?: number;
  conflict?: number;
  note?: string;
}

/** How the programs of a launch write one gradient. Axes are those of the grid. */
export interface Writes {
  /** Axes that choose the element: programs that differ in one of them write elsewhere. */
  own: number[];
  /** Axes whose programs meet in the same element. */
  shared: number[];
  atomic: boolean;
  why?: string;
}

export interface GradientSchedule {
  input: string;
  /** The forward's own schedule, turned round. */
  before: Writes;
  /** What was derived. */
  after: Writes;
  range?: Range;
}

/** Who writes one gradient in one kernel of a backward: an owner stores plainly, else programs meet. */
export interface GradientOwner {
  name: string;
  /** The parameter whose gradient it is. */
  of: string;
  owner?: string;
  why?: string;
  collisions?: string;
  /** It is another gradient. */
  same?: string;
  /** What is added where it is stored. */
  picked?: string;
}

/** One kernel of a backward: what a program of it moves and computes, and who owns what. */
export interface BackwardKernel {
  name: string;
  /** As the analysis estimates it; `share`: of the peaks of the card that the settings name. */
  work: { name?: string; text: string; share?: string }[];
  gradients: GradientOwner[];
}

/** What a program takes of the card; `estimated`: by the analysis, else as the compiler says. */
export interface Footprint {
  estimated: boolean;
  shared_bytes: number;
  registers: number;
  spills: boolean;
  warps: number;
  stages: number;
  programs_at_once: number;
  /** Of the warps of a multiprocessor. */
  occupancy: number;
  limited_by: string;
}

/** A configuration or launch of a kernel on the roofline of the card. */
export interface CostPoint {
  kernel: string;
  side: "forward" | "backward";
  /** "configuration 1" */
  name?: string;
  bound?: string;
  /** Absent where block sizes do not decide it. */
  flop_per_byte?: number;
  peak_tflop_s?: number;
  reachable_tflop_s?: number;
  footprint: Footprint | null;
}

/** Of the forward, as it was timed last. */
export interface MeasuredCost {
  configuration?: string;
  flop_per_byte?: number;
  tflop_s?: number;
  gb_s?: number;
  shared_bytes?: number;
  registers?: number;
}

/** What was timed at one size: bytes that the forward moves, and medians. */
export interface TimedSize {
  configuration: string;
  bytes: number;
  forward_ms?: number;
  backward_ms?: number;
}

export interface Costs {
  card: { name: string; title: string; memory_gb_s: number; shared_bytes: number } | null;
  points: CostPoint[];
  measured?: MeasuredCost;
}

export interface Schedule {
  kernel: string;
  /** One for each axis of the grid: what the launcher gives for it, where that is known. */
  axes: { axis: number; extent?: string }[];
  gradients: GradientSchedule[];
  /** What the forward stores for its backward: an expression of its text, the parameter that it goes to. */
  saved?: { value: string; parameter: string; size: string }[];
  kernels?: BackwardKernel[];
  cost?: Costs;
  /** By bytes, of the kernel as it is, at whatever sizes it was timed. */
  times?: TimedSize[];
  reason?: string;
}

/** A number of elements or bytes: in words, and as a number where the first configuration or launch says it. */
export interface AccessAmount {
  text: string;
  number?: number;
}

/** Which elements the lanes of one load, store or atomic touch. */
export interface Access {
  kernel: string;
  range: Range;
  kind: "load" | "store" | "atomic";
  /** The parameter that the address begins at. */
  pointer?: string | undefined;
  /** "coalesced" */
  lanes?: string;
  /** That the numbers are of. */
  configuration?: string;
  /** Else numbers from memory say where lanes are. */
  known: boolean;
  masked: boolean;
  /** The caller decides the element type: 2 bytes are taken. */
  type_open: boolean;
  element_bytes: number;
  bytes: AccessAmount | null;
  axes: { extent: AccessAmount | null; stride: AccessAmount | null }[];
  /** How far the tiles of neighbouring programs are apart, along the axes of the grid that the address depends on. */
  programs: { axis: number; step: AccessAmount | null }[];
}
