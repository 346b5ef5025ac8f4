#pragma once
// What asking a language model takes, opened once at the start (docs/guides/aegis.md): a kernel, the providers, the sanitiser. Without a
// kernel nobody asks, and nothing of it costs anything.

#include <memory>
#include <optional>

#include "shared/aegis/kernel_file.h"
#include "shared/aegis/provider/model_providers.h"
#include "shared/aegis/sanitize/sanitizer.h"
#include "shared/capability/capability.h"
#include "shared/config/settings.h"

namespace acl::coordinator {

struct AskSetup {
  aegis::Kernel kernel;
  aegis::ModelProviders providers;
  aegis::HttpModelClient* model = nullptr;  // of the kernel's provider
  aegis::Sanitizer sanitizer;

  // nullptr: no kernel is named. kInvalid: files that do not fit, each named with what to write instead. Clock and random outlive it.
  static Result<std::unique_ptr<AskSetup>> Open(const Settings& settings, const CapabilityRegistry& capabilities, const Clock& clock,
                                                Random& random);
};

}  // namespace acl::coordinator
