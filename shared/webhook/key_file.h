#pragma once
// The keys of webhooks by name, from a file that only its reader may read:
//
//   # NAME HOST... = KEY [KEY...]: more than one while a key is changed; a message is signed by each
//   billing hooks.example.com = whsec_... whsec_...
//
// A key signs messages to its hosts only: exact names, "*.example.org" for every name below, or "*" for any host.

#include <map>
#include <string>
#include <vector>

#include "shared/webhook/webhook.h"

namespace acl::webhook {

struct SigningKeys {
  std::vector<std::string> hosts;  // lower case
  std::vector<Key> keys;
};
using Keyring = std::map<std::string, SigningKeys>;

// The file must be its reader's (mode 0600 or less) or root's (0640 or less). Errors name the line and quote nothing of it.
Result<Keyring> ReadKeyFile(const std::string& file);

}  // namespace acl::webhook
