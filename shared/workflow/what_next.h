#pragma once
// What a run does now: the first ready steps in plan order; while stopping, what must be settled or undone; else what would wake it.
// Looks at as many steps as run or start, never at all of them.

#include "shared/workflow/compiled_definition.h"

namespace acl::workflow {

Next WhatNextOf(const DefinitionCache& definitions, const Document& state, const NextContext& context);

}  // namespace acl::workflow
