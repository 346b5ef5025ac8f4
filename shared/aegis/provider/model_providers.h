#pragma once
// Every provider of a file, each with its client and its key: what a program opens once at its start.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shared/aegis/provider/http_model_client.h"

namespace acl::aegis {

class ModelProviders {
 public:
  // Reads the file and every key it names. Anything wrong is an error that names it; nothing is asked of a provider. Clock and random
  // outlive it.
  static Result<ModelProviders> Open(const std::string& path, const Clock& clock, Random& random);

  // By name; "" is the first of the file. kNotFound names those that there are.
  Result<HttpModelClient*> Find(const std::string& name) const;
  const std::vector<std::string>& names() const { return names_; }  // in the order of the file
  // Of those that have one: name and key. For the sanitiser, which cuts them out of every text; nobody else takes them.
  const std::vector<std::pair<std::string, std::string>>& keys() const { return keys_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::pair<std::string, std::string>> keys_;
  std::map<std::string, std::unique_ptr<HttpModelClient>> clients_;
};

}  // namespace acl::aegis
