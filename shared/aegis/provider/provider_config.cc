#include "shared/aegis/provider/provider_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "shared/base/private_file.h"
#include "shared/base/read_file.h"

namespace acl::aegis {
namespace {

constexpr std::size_t kMostFileBytes = 1u << 20;

using Take = std::function<std::string(const Json&)>;  // "" or what is wrong

Take TextField(std::string& where) {
  return [&where](const Json& value) -> std::string {
    if (!value.is_string()) return "must be a string";
    where = value.get<std::string>();
    return "";
  };
}

template <class Number>
Take NumberField(Number& where, std::int64_t least, std::int64_t most) {
  return [&where, least, most](const Json& value) -> std::string {
    const bool fits = value.is_number_integer() && value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most;
    if (!fits) return fmt::format("must be a whole number from {} to {}", least, most);
    where = Number(value.get<std::int64_t>());
    return "";
  };
}

Take FlagField(bool& where) {
  return [&where](const Json& value) -> std::string {
    if (!value.is_boolean()) return "must be true or false";
    where = value.get<bool>();
    return "";
  };
}

Take OmitField(std::vector<std::string>& where) {
  return [&where](const Json& value) -> std::string {
    const std::string bad =
        "must be a list of parameters that may be left out: temperature, seed, stop, stop_sequences, stream_options, "
        "response_format, output_config, tool_choice";
    if (!value.is_array()) return bad;
    for (const Json& item : value) {
      const std::string name = item.is_string() ? item.get<std::string>() : "";
      if (name.empty() || bad.find(" " + name + ",") == std::string::npos) {
        if (name != "temperature" && name != "tool_choice") return bad;
      }
      where.push_back(name);
    }
    return "";
  };
}

Take KindField(ProviderKind& where) {
  return [&where](const Json& value) -> std::string {
    if (value == "openai") {
      where = ProviderKind::kOpenAi;
    } else if (value == "anthropic") {
      where = ProviderKind::kAnthropic;
    } else {
      return "must be openai (chat completions: OpenAI, Ollama, vLLM, llama.cpp) or anthropic (Messages)";
    }
    return "";
  };
}

std::map<std::string, Take> FieldsOf(ProviderConfig& provider, const std::string& currency) {
  constexpr std::int64_t kDay = 86'400'000;
  return {{"name", TextField(provider.name)},
          {"kind", KindField(provider.kind)},
          {"base_url", TextField(provider.base_url)},
          {"model", TextField(provider.model)},
          {"key_file", TextField(provider.key_file)},
          {"ca_file", TextField(provider.ca_file)},
          {"allow_private_networks", FlagField(provider.allow_private_networks)},
          {"connect_timeout_ms", NumberField(provider.connect_timeout, 1, kDay)},
          {"total_timeout_ms", NumberField(provider.total_timeout, 1, kDay)},
          {"quiet_timeout_ms", NumberField(provider.quiet_timeout, 1, kDay)},
          {"max_request_bytes", NumberField(provider.most_request_bytes, 1024, 64 << 20)},
          {"max_answer_bytes", NumberField(provider.most_answer_bytes, 1024, 64 << 20)},
          {"calls_at_once", NumberField(provider.limits.at_once, 1, 1000)},
          {"calls_waiting", NumberField(provider.limits.most_waiting, 1, 100'000)},
          {"requests_per_minute", NumberField(provider.limits.requests_per_minute, 0, 1'000'000)},
          {"tokens_per_minute", NumberField(provider.limits.tokens_per_minute, 0, 1'000'000'000)},
          {"attempts", NumberField(provider.retries.most_attempts, 1, 20)},
          {"first_wait_ms", NumberField(provider.retries.first_wait, 0, kDay)},
          {"longest_wait_ms", NumberField(provider.retries.most_wait, 0, kDay)},
          {"retry_unknown_outcomes", FlagField(provider.retries.when_unknown)},
          {"omit", OmitField(provider.dialect.omit)},
          {"max_tokens_name", TextField(provider.dialect.max_tokens_name)},
          {"prices", [&provider, currency](const Json& value) -> std::string {
             auto prices = ParsePrices(value, currency);
             if (!prices) return prices.message();
             provider.prices = std::move(*prices);
             return "";
           }}};
}

bool IsProviderName(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
}

Result<ProviderConfig> ReadProvider(const Json& given, const std::string& place, const std::string& currency) {
  const auto bad = [&](const std::string& what) { return Error{Code::kInvalid, place + what}; };
  if (!given.is_object()) return bad(": is no object");
  ProviderConfig provider;
  provider.prices.currency = currency;
  const auto fields = FieldsOf(provider, currency);
  for (const auto& [name, value] : given.items()) {
    const auto field = fields.find(name);
    if (field == fields.end()) {
      if (name == "key" || name == "api_key") return bad(": a key does not stand here; put it into a file and write key_file");
      std::vector<std::string> names;
      for (const auto& [known, take] : fields) names.push_back(known);
      return bad(fmt::format(": '{}' is unknown; there are: {}", name.substr(0, 40), fmt::join(names, " ")));
    }
    if (const std::string wrong = field->second(value); !wrong.empty()) return bad(fmt::format(".{}: {}", name, wrong));
  }
  if (!IsProviderName(provider.name)) return bad(".name: is made of a-z, 0-9, - and _, 64 at most");
  while (provider.base_url.ends_with('/')) provider.base_url.pop_back();
  if (provider.base_url.empty()) return bad(".base_url: is missing; such as http://127.0.0.1:8080/v1");
  if (provider.base_url.find_first_of("?#") != std::string::npos) return bad(".base_url: write scheme, host and path only");
  if (provider.dialect.max_tokens_name != "max_tokens" && provider.dialect.max_tokens_name != "max_completion_tokens")
    return bad(".max_tokens_name: must be max_tokens or max_completion_tokens");
  return provider;
}

}  // namespace

Result<std::vector<ProviderConfig>> ParseProviders(const Json& file) {
  const auto bad = [](const std::string& what) { return Error{Code::kInvalid, what}; };
  if (!file.is_object() || !file.contains("providers") || !file.at("providers").is_array()) return bad("providers: a list is missing");
  std::string currency = "USD";
  for (const auto& [name, value] : file.items()) {
    if (name == "providers") continue;
    if (name != "currency") return bad(fmt::format("'{}' is unknown; there are: currency providers", name.substr(0, 40)));
    if (!value.is_string() || value.get<std::string>().empty() || value.get<std::string>().size() > 8)
      return bad("currency: must be a short name, such as USD");
    currency = value.get<std::string>();
  }
  const Json& list = file.at("providers");
  if (list.size() > kMostProviders) return bad(fmt::format("providers: {} are listed, {} are allowed", list.size(), kMostProviders));
  std::vector<ProviderConfig> providers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = fmt::format("providers[{}]", i);
    auto provider = ReadProvider(list[i], place, currency);
    if (!provider) return provider.error();
    const bool twice = std::any_of(providers.begin(), providers.end(), [&](const auto& other) { return other.name == provider->name; });
    if (twice) return bad(place + ".name: another provider has this name");
    providers.push_back(std::move(*provider));
  }
  return providers;
}

Result<std::vector<ProviderConfig>> ReadProviders(const std::string& path) {
  const auto text = ReadFile(path, kMostFileBytes);
  if (!text) return text.error();
  const auto file = ParseJson(*text);
  if (!file) return Error{Code::kInvalid, path + ": " + file.message()};
  auto providers = ParseProviders(*file);
  if (!providers) return Error{providers.code(), path + ": " + providers.message()};
  return providers;
}

Result<std::string> ReadProviderKey(const ProviderConfig& provider) {
  if (provider.key_file.empty()) return std::string();
  auto text = ReadPrivateFile("key_file", provider.key_file);
  if (!text) return text.error();
  const auto begin = text->find_first_not_of(" \t\r\n"), end = text->find_last_not_of(" \t\r\n");
  std::string key = begin == std::string::npos ? "" : text->substr(begin, end - begin + 1);
  const bool plain = std::all_of(key.begin(), key.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (key.empty() || !plain || key.size() > 4096)
    return Error{Code::kInvalid, fmt::format("key_file {}: must hold one key: one line of printable characters", provider.key_file)};
  return key;
}

Json ShowProvider(const ProviderConfig& provider) {
  return {{"name", provider.name},
          {"kind", provider.kind == ProviderKind::kAnthropic ? "anthropic" : "openai"},
          {"base_url", provider.base_url},
          {"model", provider.model},
          {"key_file", provider.key_file},
          {"allow_private_networks", provider.allow_private_networks},
          {"calls_at_once", provider.limits.at_once},
          {"requests_per_minute", provider.limits.requests_per_minute},
          {"tokens_per_minute", provider.limits.tokens_per_minute},
          {"attempts", provider.retries.most_attempts},
          {"prices_version", provider.prices.version}};
}

}  // namespace acl::aegis
