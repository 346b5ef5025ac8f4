#include "tests/fuzz/targets/targets.h"

namespace acl::fuzz {

const std::vector<Target>& Targets() {
  static const std::vector<Target> all = {
      {"json", FuzzJson},
      {"patch", FuzzPatch},
      {"cron", FuzzCron},
      {"workflow", FuzzWorkflow},
      {"template", FuzzTemplate},
      {"http_head", FuzzHttpHead},
      {"doorbell", FuzzDoorbell},
      {"step_message", FuzzStepMessage},
      {"event", FuzzEvent},
      {"restore", FuzzRestore},
      {"snapshot", FuzzSnapshot},
      {"expression", FuzzExpression},
      {"model_answer", FuzzModelAnswer},
  };
  return all;
}

}  // namespace acl::fuzz
