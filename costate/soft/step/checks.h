// What makes no model: cells without volume, numbers out of range. Each is an Error that names it.
#pragma once

#include <vector>

#include "costate/soft/laws/law.h"
#include "costate/soft/soft_model.h"

namespace costate::soft {

// The vertices of a part exist, and its cells have a volume of the right sign at rest.
void check_cells(const SoftModel& model, const Part& part);
// `numbers`: those of the material's law.
void check_numbers(const SoftMaterial& material, const std::vector<LawNumber>& numbers);
// Creases need edges that bend, and steps whose end is what they solve for.
void check_creases(const SoftModel& model, const SoftMaterial& material, bool membrane);

}  // namespace costate::soft
