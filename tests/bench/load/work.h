#pragma once
// The work that is measured: a workflow of ten steps one after another, each of them doing nothing and giving back about 150 bytes of JSON,
// which it makes itself (as the steps of the peers do).

#include <string>

namespace acl::bench {

inline constexpr int kSteps = 10;

inline std::string SequentialSteps(const std::string& capability, int steps) {
  std::string text = "name: bench-" + std::to_string(steps) + "-steps\nsteps:\n";
  for (int i = 1; i <= steps; ++i) {
    text += "  - name: step_" + std::to_string(i) + "\n    capability: " + capability +
            "\n    inputs: {outputs: {step: " + std::to_string(i) + "}, size: 120}\n";
  }
  return text;
}

// The same, each step a PUT to a handler in another process at this port, which answers with as much.
inline std::string TenHandledSteps(int port) {
  std::string text = "name: bench-ten-handled-steps\nsteps:\n";
  for (int i = 1; i <= kSteps; ++i) {
    text += "  - name: step_" + std::to_string(i) +
            "\n    capability: net.http.put\n    inputs: {url: 'http://127.0.0.1:" + std::to_string(port) + "/step/" + std::to_string(i) +
            "', body: '{}'}\n";
  }
  return text;
}

inline std::string TenSteps(const std::string& capability) { return SequentialSteps(capability, kSteps); }

}  // namespace acl::bench
