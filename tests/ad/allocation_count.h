// Calls of operator new so far in this executable, for tests that a hot path makes none.
#pragma once

namespace costate::test {

long allocation_count();

}  // namespace costate::test
