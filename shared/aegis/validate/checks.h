#pragma once
// The five classes' own checks, and the answer as they read it.

#include <re2/re2.h>

#include <string>
#include <string_view>
#include <vector>

#include "shared/aegis/validate/validate.h"

namespace acl::aegis {

// Lower case; typographic quotes, dashes and blanks are plain ones; runs of blanks are one; marks of emphasis are gone.
std::string NormalText(std::string_view text);

struct Sentence {
  std::size_t begin = 0;  // in the answer
  std::string raw;
  std::string normal;  // NormalText
  std::string spoken;  // that without what it quotes: text in double quotes or backquotes
};

struct Answer {
  explicit Answer(const ValidationInput& given);
  const ValidationInput& input;
  std::vector<Sentence> sentences;  // code blocks left out
};

void CheckSchema(const Answer& answer, std::vector<Finding>& findings);
void CheckEvidence(const Answer& answer, std::vector<Finding>& findings);
void CheckAuthority(const Answer& answer, std::vector<Finding>& findings);
void CheckTone(const Answer& answer, std::vector<Finding>& findings);
void CheckCompleteness(const Answer& answer, std::vector<Finding>& findings);

void AddFinding(std::vector<Finding>& findings, DriftClass drift, std::string_view rule, std::string place, std::string_view what);
std::string PlaceOf(const Sentence& sentence);
bool Matches(const RE2& expression, std::string_view text);
std::string FirstMatch(const RE2& expression, std::string_view text);               // empty: none
std::vector<std::string> AllMatches(const RE2& expression, std::string_view text);  // of its first group
bool HasWord(std::string_view text, std::string_view word);                         // both normal

// A tool's words and those of its values: "cpu", "load" for cpu_load.
std::vector<std::string> WordsOfSight(const SightOf& sight);
bool HasValues(const SightOf& sight);
// Whether the number is one of its values: as it is, as a percentage, what is left of it, MB as GB; to two in a hundred.
bool HasValueOf(const SightOf& sight, double number);

}  // namespace acl::aegis
