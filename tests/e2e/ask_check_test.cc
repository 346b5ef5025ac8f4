// airun aegis check against a real fleet: green, and red where the record was made wrong on purpose, on its way into the tables.
#include <gtest/gtest.h>

#include "tests/e2e/ask_fixture.h"

namespace acl::test {
namespace {

class AskCheck : public Asks {
 protected:
  void SetUp() override {
    const std::string tools = "tools:\n";
    kernel.insert(kernel.find(tools) + tools.size(), "  observational: {sys_health: {from_tier: 1, about: load and memory}}\n");
    Start("1");
  }
  // From now on each new row of the table is changed so before it is stored.
  void Plant(const std::string& table, const std::string& change) {
    Sql("CREATE OR REPLACE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + change + "; RETURN NEW; END $$");
    Sql("DROP TRIGGER IF EXISTS planted ON " + table + "; CREATE TRIGGER planted BEFORE INSERT ON " + table +
        " FOR EACH ROW EXECUTE FUNCTION planted()");
  }
  void Unplant(const std::string& table) { Sql("DROP TRIGGER planted ON " + table); }
  Json Check() {
    const auto told = fleet->Cli({"aegis", "check", "--against", fleet->ApiUrl(), "-n", "1", "--as", "ann", "-o", "json"});
    const auto parsed = ParseJson(told.out);
    EXPECT_TRUE(parsed) << told.out << told.err;
    EXPECT_EQ(told.exit_code, parsed && (*parsed)["red"] == 0 ? 0 : 1);
    return parsed ? *parsed : Json::object();
  }
  static std::string Red(const Json& checked) {
    std::string red;
    for (const Json& line : checked["lines"])
      if (!line["ok"]) red += line["line"].get<std::string>() + " ";
    return red;
  }
};

TEST_F(AskCheck, AFleetAsItIsIsGreen) {
  says = "The load is fine.";
  ASSERT_EQ(Ask("What is next?").status, 200);
  const Json checked = Check();
  EXPECT_EQ(Red(checked), "") << checked.dump(1);
  EXPECT_GE(checked["lines"].size(), 14u);
  EXPECT_EQ(model.asked().size(), 2u) << "it asks one question itself";
  const std::string id = checked["lines"][0]["exchange_id"];
  const auto exported = fleet->Cli({"ask", "export", id, "--to", folder / "exchange.json"});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  fleet->coordinator().Kill();  // nobody is asked
  EXPECT_EQ(fleet->Cli({"aegis", "check", "--file", folder / "exchange.json"}).exit_code, 0);
}

TEST_F(AskCheck, EachLineIsRedOnARecordThatIsWrong) {
  const struct {
    const char *table, *change, *red;
  } plants[] = {
      {"ask_prepared", "NEW.context_bundle_json = NULL", "bundle "},
      {"ask_prepared", "NEW.context_bundle_hash = 'sha256:00'", "bundle_hash "},
      {"ask_prepared", "NEW.prompt_hash = NEW.prefix_hash", "prompt_hash "},
      {"ask_prepared", "NEW.prepared_at = NEW.prepared_at + interval '1 hour'", "compiled_before_call "},
      {"ask_outcome", "NEW.response_sanitized = 'something else'", "exchange "},
      {"ask_outcome", "NEW.response_hash = 'sha256:00'", "response_hash "},
      {"chat_turn", "NEW.content_hash = 'sha256:00'", "hash_linkage "},
      {"chat_session", "NEW.model_id = 'another'", "session "},
      {"context_artifact_ref", "NEW.included_reason = ''", "refs "},
      {"ask_prepared", "NEW.context_bundle_json = replace(NEW.context_bundle_json, '\"values\":', '\"was\":')", "sight "},
  };
  for (const auto& plant : plants) {
    SCOPED_TRACE(plant.change);
    Plant(plant.table, plant.change);
    EXPECT_NE((" " + Red(Check())).find(std::string(" ") + plant.red), std::string::npos) << plant.red;
    Unplant(plant.table);
  }
  EXPECT_EQ(Red(Check()), "") << "and green again without them";
}

}  // namespace
}  // namespace acl::test
