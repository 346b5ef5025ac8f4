#pragma once
// API keys as rows (migrations/0009_projects.sql). A key is acl_<12 hex digits: its id>_<64 hex digits: its secret, 256 random bits>;
// only the SHA-256 of the secret is stored, which for a secret of that size is as good as a slow hash.

#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/result.h"

namespace acl {

struct ApiKeyRow {
  std::string key_id, name;
  Hash256 secret_hash{};
  ProjectId project;
  std::vector<std::string> roles;
};

class KeyStore {
 public:
  virtual ~KeyStore() = default;
  // Those in force.
  virtual Result<std::vector<ApiKeyRow>> Keys() = 0;
};

namespace pg {
class Pool;
}

class PgKeyStore final : public KeyStore {
 public:
  explicit PgKeyStore(pg::Pool& pool) : pool_(pool) {}  // outlives it
  Result<std::vector<ApiKeyRow>> Keys() override;

 private:
  pg::Pool& pool_;
};

// The text of a key in its parts; nothing if it is not one.
struct ApiKeyText {
  std::string key_id;
  std::string secret;  // hex
};
std::optional<ApiKeyText> ParseApiKey(std::string_view text);

// Makes a key and returns its text: the only time that it is seen. `conninfo` must log in as a member of acl_owner. kInvalid: a bad name
// or role. `roles`: what approvals ask for (approver_role).
Result<std::string> CreateApiKey(const std::string& conninfo, const std::string& name, const std::vector<std::string>& roles = {});
// All ever made, oldest first, without their secrets. `conninfo` as above.
struct ApiKeyInfo {
  std::string key_id, name;
  std::vector<std::string> roles;
  WallTime created_at;
  std::optional<WallTime> revoked_at;
};
Result<std::vector<ApiKeyInfo>> ListApiKeys(const std::string& conninfo);
// kNotFound if there is no such key in force.
Status RevokeApiKey(const std::string& conninfo, const std::string& key_id);

}  // namespace acl
