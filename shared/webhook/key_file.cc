#include "shared/webhook/key_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "shared/base/private_file.h"

namespace acl::webhook {

namespace {

constexpr std::size_t kLongestName = 64, kLongestHost = 255;

bool IsHost(std::string_view host) {
  return !host.empty() && host.size() <= kLongestHost &&
         host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.:[]*") == std::string_view::npos;
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == std::string_view::npos;
}

}  // namespace

Result<Keyring> ReadKeyFile(const std::string& file) {
  const auto text = ReadPrivateFile("webhook_keys_file", file);
  if (!text) return text.error();
  Keyring ring;
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto bad = [&](const std::string& what) {
      return Error{Code::kInvalid, fmt::format("webhook_keys_file {}, line {}: {}", file, number, what)};
    };
    std::istringstream words(line);
    std::string name, word;
    if (!(words >> name) || name.front() == '#') continue;
    std::vector<std::string> hosts;
    bool form = IsName(name), equals = false;
    while (form && !equals && words >> word) {
      equals = word == "=";
      if (equals) break;
      std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return char(std::tolower(c)); });
      form = IsHost(word);
      hosts.push_back(word);
    }
    if (!form || !equals) return bad("not NAME HOST... = KEY (a name is made of letters, digits, '_', '-' and '.')");
    if (hosts.empty()) return bad("no host: write NAME HOST... = KEY, the hosts that messages with this key may go to ('*': any)");
    auto [at, is_new] = ring.try_emplace(name);
    if (!is_new) return bad("this name is there already; several keys of one name stand on one line");
    at->second.hosts = std::move(hosts);
    bool signs = false;
    while (words >> word) {
      auto key = Key::Parse(word);
      if (!key) return bad(key.message());
      signs = signs || key->kind() != Key::Kind::kPublic;
      at->second.keys.push_back(std::move(*key));
    }
    if (!signs) return bad("no key that signs: whsec_ or whsk_");
  }
  return ring;
}

}  // namespace acl::webhook
