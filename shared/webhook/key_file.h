#pragma once
// The keys of webhooks by name, from a file that only its reader may read:
//
//   # NAME = KEY [KEY...]: more than one while a key is changed; a message is signed by each
//   billing = whsec_... whsec_...

#include <map>
#include <string>
#include <vector>

#include "shared/webhook/webhook.h"

namespace acl::webhook {

using Keyring = std::map<std::string, std::vector<Key>>;

// The file must be its reader's (mode 0600 or less) or root's (0640 or less). Errors name the line and quote nothing of it.
Result<Keyring> ReadKeyFile(const std::string& file);

}  // namespace acl::webhook
