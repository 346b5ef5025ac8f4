#include "shared/base/fail_point.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "shared/base/check.h"

namespace acl::fail_point {
namespace {

// Written once, before `armed`.
std::string& Folder() {
  static std::string folder;
  return folder;
}

}  // namespace

void Arm(const std::string& folder) {
  ACL_CHECK(!armed, "armed twice");
  Folder() = folder;
  armed.store(true, std::memory_order_seq_cst);
}

bool Hit(const char* place) {
  const std::string order = Folder() + "/" + place, hit = order + ".hit", go = order + ".go";
  if (std::rename(order.c_str(), hit.c_str()) != 0) return false;  // no order, or another thread took it
  std::string action;
  std::ifstream(hit) >> action;
  if (action == "kill") kill(getpid(), SIGKILL);
  if (action == "pause") kill(getpid(), SIGSTOP);
  while (action == "hold" && access(go.c_str(), F_OK) != 0) poll(nullptr, 0, 5);
  return action == "reset";
}

const std::vector<Place>& Places() {
  static const std::vector<Place> places = {
      {"claim.before", false},         {"claim.after_commit", false},
      {"renew.before", false},         {"step.before_effect", false},
      {"effect.after_send", false},    {"effect.after_reply", false},
      {"commit.before", true},         {"commit.after_send", true},
      {"commit.after_ok", false},      {"outbox.before_publish", false},
      {"outbox.after_publish", false}, {"offset.before_commit", false},
      {"snapshot.after_put", false},   {"snapshot.before_pointer", false},
      {"reaper.after_select", false},  {"create.after_grant", false},
      {"grants.before_read", false},   {"command.before", true},
      {"command.opened", true},        {"command.written", true},
      {"command.committed", true},     {"ask.before_prepared", false},
      {"ask.prepared", false},         {"ask.invoked", false},
      {"ask.before_recorded", false},  {"ask.recorded", false},
  };
  return places;
}

}  // namespace acl::fail_point
