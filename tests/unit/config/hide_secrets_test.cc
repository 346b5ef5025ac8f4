#include "shared/config/hide_secrets.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace acl {
namespace {

// Texts that may be written over, as a process's own are.
struct Texts {
  explicit Texts(std::vector<std::string> given) : texts(std::move(given)) {
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
  }
  int count() const { return int(texts.size()); }
  bool Holds(const std::string& what) const {
    for (const std::string& text : texts) {
      if (text.find(what) != std::string::npos) return true;
    }
    return false;
  }
  std::vector<std::string> texts;
  std::vector<char*> pointers;
};

TEST(HideSecrets, ValuesOfSecretVariablesAreErased) {
  Texts environment({"HOME=/root", "ACL_DATABASE_URL=postgresql://u:hush1@h/d", "ACL_S3_SECRET_KEY=hush2", "ACL_S3_SESSION_TOKEN=hush3",
                     "ACL_API_KEY=hush4", "ACL_LISTEN=127.0.0.1:1", "odd", "ACL_DATABASE_URLS=kept"});
  EraseSecretVariables(environment.pointers.data());
  EXPECT_FALSE(environment.Holds("hush"));
  for (const char* kept : {"HOME=/root", "ACL_LISTEN=127.0.0.1:1", "odd", "ACL_DATABASE_URLS=kept", "ACL_DATABASE_URL="})
    EXPECT_TRUE(environment.Holds(kept)) << kept;
}

TEST(HideSecrets, ValuesOfSecretFlagsAreErased) {
  Texts arguments({"acl-worker", "--database-url", "postgresql://u:hush1@h/d", "--s3-secret-key=hush2", "--slots", "4", "--database-url"});
  EraseSecretArguments(Program::kWorker, arguments.count(), arguments.pointers.data());
  EXPECT_FALSE(arguments.Holds("hush"));
  for (const char* kept : {"acl-worker", "--database-url", "--s3-secret-key=", "--slots", "4"}) EXPECT_TRUE(arguments.Holds(kept)) << kept;
}

TEST(HideSecrets, NobodyOfTheSameUserMayLookIntoTheProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    char name[] = "acl-worker";
    char* arguments[] = {name, nullptr};
    ::prctl(PR_SET_DUMPABLE, 1);
    HideSecrets(Program::kWorker, 1, arguments);
    ::_exit(::prctl(PR_GET_DUMPABLE));
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace acl
