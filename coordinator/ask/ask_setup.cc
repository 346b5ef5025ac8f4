#include "coordinator/ask/ask_setup.h"

#include <fmt/format.h>

#include "shared/base/private_file.h"
#include "shared/base/read_file.h"
#include "shared/definition/loader.h"

namespace acl::coordinator {

namespace {

constexpr std::size_t kMostKernelBytes = 1u << 20;

Result<aegis::Kernel> ReadKernel(const std::string& file) {
  auto text = ReadFile(file, kMostKernelBytes);
  if (!text) return Error{Code::kInvalid, fmt::format("aegis_kernel_file {}: {}", file, text.message())};
  aegis::LoadedKernel loaded = aegis::LoadKernel(*text);
  if (loaded.kernel) return std::move(*loaded.kernel);
  std::string wrong;
  for (const acl::Finding& finding : loaded.findings) wrong += "\n  " + FormatFinding(file, finding);
  return Error{Code::kInvalid, fmt::format("aegis_kernel_file {} is no kernel:{}", file, wrong)};
}

// What people approve must be able to run.
Status CheckWorkflows(const aegis::Kernel& kernel, const CapabilityRegistry& capabilities) {
  for (const aegis::ToolRule& tool : kernel.actuation) {
    if (tool.workflow.empty()) continue;
    const Loaded loaded = LoadWorkflow(tool.workflow, capabilities, {});
    if (loaded.ok()) continue;
    std::string wrong;
    for (const acl::Finding& finding : loaded.findings) wrong += "\n  " + FormatFinding(tool.name, finding);
    return {Code::kInvalid, fmt::format("the kernel's tool '{}' has no workflow that could run:{}", tool.name, wrong)};
  }
  return {};
}

// A password of letters, as databases on one's own machine have it, is a word of many texts: it would be cut out of all of them.
constexpr std::size_t kShortestPassword = 12;

// Of "postgresql://user:PASSWORD@host/...".
std::string PasswordIn(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return "";
  const std::string authority = url.substr(scheme + 3, url.find_first_of("/?", scheme + 3) - scheme - 3);
  const auto at = authority.rfind('@'), colon = authority.find(':');
  return at == std::string::npos || colon == std::string::npos || colon > at ? "" : authority.substr(colon + 1, at - colon - 1);
}

// What this coordinator itself holds and no text may: cut by its value, however it looks.
Result<std::vector<aegis::LiveSecret>> SecretsOf(const Settings& settings, const aegis::ModelProviders& providers, const std::string& key) {
  std::vector<aegis::LiveSecret> secrets;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (value.size() >= aegis::kShortestLiveSecret && value.size() <= aegis::kLongestLiveSecret) secrets.push_back({name, value});
  };
  for (const auto& [name, value] : providers.keys()) add("the key of provider " + name, value);
  add("aegis_key_file", key);
  add("s3_secret_key", settings.s3_secret_key);
  add("s3_session_token", settings.s3_session_token);
  if (const std::string password = PasswordIn(settings.database_url); password.size() >= kShortestPassword) add("database_url", password);
  if (!settings.memory_token_file.empty()) {
    auto token = ReadPrivateFile("memory_token_file", settings.memory_token_file);
    if (!token) return Error{Code::kInvalid, token.message()};
    add("memory_token_file", *token);
  }
  return secrets;
}

}  // namespace

Result<std::unique_ptr<AskSetup>> AskSetup::Open(const Settings& settings, const CapabilityRegistry& capabilities, const Clock& clock,
                                                 Random& random) {
  if (settings.aegis_kernel_file.empty()) return std::unique_ptr<AskSetup>();
  auto kernel = ReadKernel(settings.aegis_kernel_file);
  if (!kernel) return kernel.error();
  if (Status sound = CheckWorkflows(*kernel, capabilities); !sound) return sound.error();
  if (settings.aegis_providers_file.empty())
    return Error{Code::kInvalid,
                 "aegis_kernel_file needs aegis_providers_file: where language models are (docs/guides/aegis.md, Providers)"};
  auto providers = aegis::ModelProviders::Open(settings.aegis_providers_file, clock, random);
  if (!providers) return providers.error();
  auto model = providers->Find(kernel->model.provider);
  if (!model) return Error{Code::kInvalid, fmt::format("the kernel asks provider '{}': {}", kernel->model.provider, model.message())};
  if (!kernel->sanitise_for_model)
    return Error{Code::kInvalid, "the kernel says sanitise_for_model: false, and what a model gets is always sanitised here: remove it"};
  const bool anthropic = (*model)->provider().kind == aegis::ProviderKind::kAnthropic;
  if (anthropic != (kernel->model.api == "anthropic_messages"))
    return Error{Code::kInvalid,
                 fmt::format("the kernel's model.api is {}, and provider '{}' speaks {}: change one of them", kernel->model.api,
                             kernel->model.provider, anthropic ? "anthropic_messages" : "openai_compatible")};
  const auto session = kernel->budgets.find("session");
  if (session != kernel->budgets.end() && (!session->is_string() || !aegis::ParseMoney(session->get<std::string>())))
    return Error{Code::kInvalid, "the kernel's budgets.session is no amount of dollars in quotes (\"0.50\")"};
  if (settings.aegis_key_file.empty())
    return Error{Code::kInvalid,
                 "aegis_kernel_file needs aegis_key_file: a private file of 16 bytes or more, by which placeholders of secrets "
                 "and digests of what was said are made (head -c 32 /dev/urandom | base64 > FILE; chmod 600 FILE)"};
  auto key = ReadPrivateFile("aegis_key_file", settings.aegis_key_file);
  if (!key) return key.error();
  auto secrets = SecretsOf(settings, *providers, *key);
  if (!secrets) return secrets.error();
  auto sanitizer = aegis::Sanitizer::Make(aegis::RuleSet::Standard(), *secrets, std::move(*key));
  if (!sanitizer) return Error{Code::kInvalid, "aegis_key_file: " + sanitizer.message()};
  return std::unique_ptr<AskSetup>(new AskSetup{std::move(*kernel), std::move(*providers), *model, std::move(*sanitizer)});
}

}  // namespace acl::coordinator
