// A README whose images are files beside it, to one that carries them.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** Each `![text](path.png)` with the image's bytes in place of its path, which is relative to `folder`. */
export function embedImages(markdown, folder) {
  return markdown.replace(/(!\[[^\]]*\]\()([^):]+\.png)\)/g, (_, start, path) => {
    const bytes = readFileSync(resolve(folder, path)).toString("base64");
    return `${start}data:image/png;base64,${bytes})`;
  });
}
