// Steps of a story on the page: each goes on where the last one ended. One that fails says what the page showed, and leaves it as the next one wants it.
import { test } from "node:test";

/** What went wrong, with all that can be seen of the editor. */
async function explained(error, { editor, bench }) {
  const page = await bench.report().catch((trouble) => [`the page cannot be read: ${trouble.message}`]);
  const lines = ["What the page shows:", ...page, "What was logged:", ...editor.lastLogLines()];
  return new Error(`${error.message}\n\n${lines.join("\n")}\n`, { cause: error });
}

/** A function that declares steps on a `stage`: its `editor` and `bench` are there once the first step runs. */
export function stepsOn(stage) {
  return (name, action) => {
    test(name, async () => {
      try {
        await action();
      } catch (error) {
        if (!stage.bench) throw error;
        await stage.bench.shot(`failed-${name.replace(/\W+/g, "-")}`);
        const explanation = await explained(error, stage);
        await stage.bench.tidy().catch((trouble) => (explanation.message += `\nIt could not be tidied up: ${trouble.message}\n`));
        stage.editor.restoreFiles();
        throw explanation;
      }
    });
  };
}
