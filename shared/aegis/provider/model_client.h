#pragma once
// The one door to a language model (document 004): a request goes in, an answer that came whole or a failure of the closed set comes out.
// Nobody but AEGIS links it. It neither scans nor records: who calls it holds what `on_delta` gives until the record is written.
//
//   auto result = client.Invoke(request, {.cancelled = stop, .deadline = clock.Steady() + 60s});
//   if (!result) return Describe(result.failure());
//   Scan(result->text);

#include <functional>
#include <string_view>

#include "shared/aegis/provider/model_failure.h"
#include "shared/aegis/provider/model_request.h"
#include "shared/base/clock.h"

namespace acl::aegis {

struct ModelHooks {
  // Given: the answer is streamed, and each piece of its text comes here on the thread that called Invoke. Not canonical: the answer may
  // still fail, and what was given is then no answer. No attempt is made after the first piece.
  std::function<void(std::string_view)> on_delta = {};
  // Asked several times a second, from other threads too: must not block. True: the connection is closed, which ends the work of the
  // server.
  std::function<bool()> cancelled = {};
  SteadyTime deadline = SteadyTime::max();  // of everything: waiting for a turn, every attempt, every pause between them
};

class ModelClient {
 public:
  virtual ~ModelClient() = default;
  // Blocks until the end; safe from any number of threads.
  virtual ModelResult Invoke(const ModelRequest& request, const ModelHooks& hooks) = 0;
};

}  // namespace acl::aegis
