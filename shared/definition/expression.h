#pragma once
// The small language of `when`, `if` and `foreach` (docs/guides/workflows.md, "Expressions"): references as in templates, literals,
// comparison, and/or/not, in, exists, length, arithmetic, filters. No clock, no randomness, no side effect; bounded, so that a deciding
// thread is never held up. The same state gives the same answer on every machine.
//
//   or  ||      lowest
//   and &&
//   not !
//   == != < <= > >=  in  not in      one of them, not a chain
//   + -
//   * / %
//   - (sign)
//   | filter    highest: of what stands right before it

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared/definition/template.h"

namespace acl {

inline constexpr std::size_t kMostExpressionBytes = 4'096;
inline constexpr int kMostExpressionNodes = 250;
inline constexpr int kDeepestExpression = 50;

// Why a text is no expression. `offset`: bytes from its beginning.
struct ExpressionMistake {
  std::size_t offset = 0;
  std::string what;
};

struct ExpressionReference {
  std::string path;
  std::size_t offset = 0;
  bool may_miss = false;  // it stands under exists(), or a `default` stands by
};

namespace expression {
struct Node;
}

class Expression {
 public:
  // The text in one form, which reads as the same expression; nested no deeper, but it may be a little longer than what was read.
  std::string Canonical() const;
  std::vector<ExpressionReference> References() const;
  const expression::Node& root() const { return *root_; }

 private:
  friend std::optional<Expression> ParseExpression(std::string_view text, ExpressionMistake* mistake);
  explicit Expression(std::shared_ptr<const expression::Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const expression::Node> root_;
};

// nullopt: `mistake` says where and why. Types are checked as far as literals tell them.
std::optional<Expression> ParseExpression(std::string_view text, ExpressionMistake* mistake);
// kInvalid: "at character n: ...".
Result<Expression> ParseExpression(std::string_view text);

// kInvalid: a reference that nothing answers, types that do not go together, a number that is too large, too much work.
Result<Json> Evaluate(const Expression& expression, const TemplateScope& scope, const TemplateLimits& limits = {});
// The same, which must come to true or false.
Result<bool> EvaluateCondition(const Expression& expression, const TemplateScope& scope, const TemplateLimits& limits = {});

}  // namespace acl
