// RFC 8785: the files of PyPI's rfc8785 (cyberphone's), every text of JSONTestSuite as npm's canonicalize writes it, and 20,000 doubles as
// V8 prints them.
#include <bit>

#include "shared/base/canonical_json.h"
#include "tests/outside/corpus.h"

namespace acl::outside {
namespace {

const std::vector<Deviation> kJcsDeviations = {
    {"integers beyond 64 bits are refused, not rounded",
     {"canonicalize/i_number_too_big_neg_int.json", "canonicalize/i_number_too_big_pos_int.json",
      "canonicalize/i_number_very_big_negative_int.json", "canonicalize/number_-9223372036854775809.json"}},
    {"nested deeper than 64 levels", {"canonicalize/i_structure_500_nested_arrays.json"}},
    {"a key stands once in an object",
     {"canonicalize/y_object_duplicated_key.json", "canonicalize/y_object_duplicated_key_and_value.json",
      "canonicalize/object_same_key_different_values.json", "canonicalize/object_same_key_same_value.json",
      "canonicalize/object_same_key_unclear_values.json"}},
    {"NUL cannot be stored",
     {"canonicalize/y_object_escaped_null_in_key.json", "canonicalize/y_string_null_escape.json",
      "canonicalize/string_with_escaped_NULL.json"}},
};

TEST(JcsCorpus, Texts) {
  Held held("RFC 8785 texts", kJcsDeviations);
  const Json corpus = Load("jcs");
  for (const Json& one : corpus["texts"]) {
    const auto value = ParseJson(one["in"].get<std::string>());
    const std::string told = value.ok() ? CanonicalJson(*value) : "refused: " + value.message();
    held.Check(one["name"], told == one["out"].get<std::string>(), told + ", wanted " + one["out"].get<std::string>());
  }
  EXPECT_EQ(held.ran(), 123);
}

TEST(JcsCorpus, Doubles) {
  Held held("RFC 8785 doubles", {});
  const Json corpus = Load("jcs");
  for (const Json& one : corpus["doubles"]) {
    const double value = std::bit_cast<double>(std::uint64_t(std::stoull(one[0].get<std::string>(), nullptr, 16)));
    const std::string told = CanonicalJson(Json(value));
    held.Check(one[0], told == one[1].get<std::string>(), told + ", wanted " + one[1].get<std::string>());
  }
  EXPECT_EQ(held.ran(), 20'000);
}

}  // namespace
}  // namespace acl::outside
