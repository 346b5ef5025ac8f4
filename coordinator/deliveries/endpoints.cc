#include "coordinator/deliveries/endpoints.h"

#include <fmt/format.h>

#include <sstream>

#include "shared/base/private_file.h"
#include "shared/capability/egress.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kLongestEndpointName = 100;

bool IsEndpointName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestEndpointName &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == std::string_view::npos;
}

// Why a line makes no endpoint; empty: it does.
std::string ReadLine(std::istringstream& words, const webhook::Keyring& keys, Endpoint& endpoint) {
  std::string word, key;
  if (!(words >> endpoint.url)) return "no URL behind the name";
  while (words >> word) {
    if (word == "private")
      endpoint.is_private = true;
    else if (word.starts_with("sign=") && word.size() > 5)
      key = word.substr(5);
    else
      return "behind the URL stands neither sign=KEY nor private";
  }
  HttpConfig rules;
  rules.schemes = endpoint.is_private ? std::vector<std::string>{"https", "http"} : std::vector<std::string>{"https"};
  const auto checked = CheckUrl(EncodeUrl(endpoint.url), rules);
  if (!checked) {
    return endpoint.is_private ? "not an http or https URL without user and password"
                               : "not an https URL without user and password (plain http only with 'private')";
  }
  if (key.empty()) return "";
  const auto found = keys.find(key);
  if (found == keys.end()) return "webhook_keys_file has no key of the name behind sign=";
  if (!HostMatches(checked->host, found->second.hosts))
    return "the key behind sign= signs nothing for this host: webhook_keys_file says for which";
  endpoint.keys = found->second.keys;
  return "";
}

}  // namespace

Result<Endpoints> ReadEndpoints(const std::string& file, const webhook::Keyring& keys) {
  const auto text = ReadPrivateFile("webhook_endpoints_file", file);
  if (!text) return text.error();
  Endpoints endpoints;
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name) || name.front() == '#') continue;
    Endpoint endpoint;
    std::string wrong = IsEndpointName(name) ? ReadLine(words, keys, endpoint) : "a name is 1 to 100 letters, digits, '_', '-' and '.'";
    if (wrong.empty() && !endpoints.emplace(name, std::move(endpoint)).second) wrong = "this name is there already";
    if (!wrong.empty())
      return Error{Code::kInvalid,
                   fmt::format("webhook_endpoints_file {}, line {}: {} (a line is NAME URL [sign=KEY] [private])", file, number, wrong)};
  }
  return endpoints;
}

Result<Endpoints> OpenEndpoints(const std::string& endpoints_file, const std::string& keys_file) {
  webhook::Keyring keys;
  if (!keys_file.empty()) {
    auto read = webhook::ReadKeyFile(keys_file);
    if (!read) return read.error();
    keys = std::move(*read);
  }
  return endpoints_file.empty() ? Result<Endpoints>(Endpoints()) : ReadEndpoints(endpoints_file, keys);
}

}  // namespace acl::coordinator
