#pragma once
// What an exchange puts on record, as JSON, and what the validator is given of it. Pure. Not for others.

#include <chrono>
#include <string>
#include <string_view>

#include "shared/aegis/bundle.h"
#include "shared/aegis/provider/model_answer.h"
#include "shared/aegis/validate/validate.h"
#include "shared/base/uuid7.h"

namespace acl::coordinator {

inline constexpr std::chrono::seconds kRecordMargin{60};  // behind the call's own time, until it is UNCERTAIN

// "rate_limited" as the API says it: "rate-limited".
std::string WordOf(std::string_view code);
aegis::ValidationInput InputOf(const aegis::Kernel& kernel, const aegis::CompiledBundle& bundle, const std::string& question,
                               const aegis::ModelAnswer& answer);
// What the provider said beside the text: some of it are its own words.
Json AnswerFacts(const aegis::ModelAnswer& answer);
// The rows of context_artifact_ref.
Json RefsOf(const aegis::CompiledBundle& bundle, Uuid7Maker& ids);

}  // namespace acl::coordinator
