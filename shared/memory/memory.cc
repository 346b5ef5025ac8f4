#include "shared/memory/memory.h"

#include <utility>

#include "shared/base/private_file.h"
#include "shared/memory/http_memory.h"

namespace acl::memory {
namespace {

// One line: what a header may hold.
Result<std::string> ReadToken(const std::string& file) {
  if (file.empty()) return std::string();
  auto text = ReadPrivateFile("memory_token_file", file);
  if (!text) return text;
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r' || text->back() == ' ')) text->pop_back();
  for (const char c : *text) {
    if (c <= 0x20 || c >= 0x7f) return Error{Code::kInvalid, "memory_token_file " + file + ": holds more than one token on one line"};
  }
  if (text->empty()) return Error{Code::kInvalid, "memory_token_file " + file + ": is empty"};
  return text;
}

}  // namespace

Result<Memory::Searched> Memory::Search(Query query, const project::Work& work) {
  auto passed = PassQuery(std::move(query), work);
  if (auto* refusal = std::get_if<Refusal>(&passed)) return Searched{{}, std::move(*refusal)};
  auto found = external_->Search(std::get<Passed<Query>>(passed));
  if (!found) return found.error();
  return Searched{std::move(*found), std::nullopt};
}

Result<Memory::Learned> Memory::Learn(Learning learning, const project::Work& work) {
  auto passed = PassLearning(std::move(learning), work);
  if (auto* refusal = std::get_if<Refusal>(&passed)) return Learned{"", std::move(*refusal)};
  const auto& accepted = std::get<Passed<Learning>>(passed);
  if (const Status told = external_->Learn(accepted); !told) return told.error();
  return Learned{accepted->Id(), std::nullopt};
}

Result<std::unique_ptr<Memory>> OpenMemory(const Settings& settings, const Clock& clock) {
  if (settings.memory_url.empty()) return std::unique_ptr<Memory>();
  auto token = ReadToken(settings.memory_token_file);
  if (!token) return token.error();
  HttpMemoryOptions options;
  options.url = settings.memory_url;
  options.token = std::move(*token);
  options.ca_file = settings.memory_ca_file;
  options.allow_private_networks = settings.memory_allow_private_networks;
  options.timeout = settings.memory_timeout;
  auto external = HttpMemory::Make(std::move(options), clock);
  if (!external) return external.error();
  return std::make_unique<Memory>(std::move(*external));
}

}  // namespace acl::memory
