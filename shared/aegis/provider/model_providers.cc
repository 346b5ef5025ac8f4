#include "shared/aegis/provider/model_providers.h"

#include <fmt/format.h>

namespace acl::aegis {

Result<ModelProviders> ModelProviders::Open(const std::string& path, const Clock& clock, Random& random) {
  auto configs = ReadProviders(path);
  if (!configs) return configs.error();
  if (configs->empty()) return Error{Code::kInvalid, path + ": no provider is listed"};
  ModelProviders providers;
  for (ProviderConfig& config : *configs) {
    const std::string name = config.name;
    auto key = ReadProviderKey(config);
    if (!key) return Error{key.code(), fmt::format("{}: provider {}: {}", path, name, key.message())};
    if (!key->empty()) providers.keys_.emplace_back(name, *key);
    auto client = HttpModelClient::Make(std::move(config), std::move(*key), clock, random);
    if (!client) return Error{client.code(), fmt::format("{}: {}", path, client.message())};
    providers.names_.push_back(name);
    providers.clients_[name] = std::move(*client);
  }
  return providers;
}

Result<HttpModelClient*> ModelProviders::Find(const std::string& name) const {
  const auto found = clients_.find(name.empty() ? names_.front() : name);
  if (found == clients_.end())
    return Error{Code::kNotFound, fmt::format("there is no provider '{}'; there are: {}", name.substr(0, 64), fmt::join(names_, " "))};
  return found->second.get();
}

}  // namespace acl::aegis
