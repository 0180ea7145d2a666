// What the parts of a run are asked with.
#include "gpu-runner/verdict/gradcheck_run.h"

SpecRequest gradcheck_spec_request(const Gradcheck *check) {
    const Json *spec = json_get(check->params, "spec"), *pyproject = json_get(spec, "pyproject");
    return (SpecRequest){
        .module = check->forward->module,
        .kernel = check->forward,
        .symbolic = check->symbolic,
        .comment = json_get_string(spec, "text", NULL),
        .pyproject = pyproject && pyproject->kind != JSON_NULL ? pyproject : NULL,
        .uses_launchers = json_get_bool(spec, "launchers", true),
        .seed = check->seed,
    };
}

ProblemReader gradcheck_problem_reader(Gradcheck *check) {
    return (ProblemReader){check->arena,    check->params, check->sources, check->forward,
                           check->symbolic, check->joined, check->facts,   check->backward,
                           check->launches, check->seed,   check->proved,  &check->budget,
                           check->before};
}
