#pragma once
// Where webhooks may go, by name, from a file that only its reader may read (an address may hold a secret):
//
//   # NAME URL [sign=KEY] [private]
//   deploys https://hooks.example.com/acl sign=billing
//   local   http://127.0.0.1:9000/hook sign=billing private
//
// KEY is a name of webhook_keys_file. `private`: the operator says that it may be at a loopback or private address, and plain http.

#include <map>
#include <string>

#include "shared/base/result.h"
#include "shared/webhook/key_file.h"

namespace acl::coordinator {

struct Endpoint {
  std::string url;
  std::vector<webhook::Key> keys;  // empty: it is not signed
  bool is_private = false;
};
using Endpoints = std::map<std::string, Endpoint>;

// Errors name the line and quote nothing of it.
Result<Endpoints> ReadEndpoints(const std::string& file, const webhook::Keyring& keys);
// Of both settings; an empty name: there are none.
Result<Endpoints> OpenEndpoints(const std::string& endpoints_file, const std::string& keys_file);

}  // namespace acl::coordinator
