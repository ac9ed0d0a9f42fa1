// <compiler>, <option> and <flag>.
#include "costate/io/model/mjcf_reader.h"

namespace costate::io {

void MjcfReader::compiler(const XmlElement& e) {
  XmlAttributes a(e);
  rigid::CompilerSpec& c = spec_.compiler;
  using From = rigid::CompilerSpec::InertiaFromGeom;
  a.choose("angle", degrees_, {{"degree", true}, {"radian", false}});
  bool global = false;
  a.choose("coordinate", global, {{"local", false}, {"global", true}});
  if (global) a.fail_at("coordinate", "must be local: global coordinates are not supported");
  a.read("eulerseq", euler_sequence_);
  if (euler_sequence_.size() != 3 || euler_sequence_.find_first_not_of("xyzXYZ") != std::string::npos)
    a.fail_at("eulerseq", "must be three of the letters x y z X Y Z");
  a.read("assetdir", asset_folder_);
  a.read("meshdir", mesh_folder_);
  a.read("strippath", strip_path_);
  a.read("autolimits", c.autolimits);
  a.read("boundmass", c.bound_mass);
  a.read("boundinertia", c.bound_inertia);
  a.read("settotalmass", c.set_total_mass);
  a.read("balanceinertia", c.balance_inertia);
  a.read("fitaabb", c.fit_box);
  a.choose("inertiafromgeom", c.inertia_from_geom,
           {{"false", From::never}, {"true", From::always}, {"auto", From::if_missing}});
  const std::vector<double> groups = a.numbers("inertiagrouprange", 2, 2);
  if (!groups.empty()) c.inertia_group_range = {int(groups[0]), int(groups[1])};
  bool fuse = false, align = false;
  a.read("fusestatic", fuse);
  if (fuse) {
    spec_.warnings.push_back(e.where() +
                             ": fusestatic is not done: bodies without joints stay bodies of their own");
  }
  a.read("alignfree", align);
  if (align) a.fail_at("alignfree", "is not supported: bodies keep the frames that the file gives them");
  // Without effect on the physics: how MuJoCo compiles, saves and draws. Visual geoms are kept.
  a.ignore({"texturedir", "discardvisual", "usethread", "saveinertial", "savecompiled", "savecanonical",
            "conflict", "passthrough", "exactmeshinertia"});
  a.finish();
  for (const XmlElement& child : e.children) {
    if (child.name != "lengthrange") fail_unknown_element(child, "compiler", {"lengthrange"}, {});
  }
}

void MjcfReader::option(const XmlElement& e) {
  XmlAttributes a(e);
  rigid::Options& o = spec_.options;
  a.read("timestep", o.timestep, "gravity", o.gravity, "wind", o.wind, "magnetic", o.magnetic);
  a.read("density", o.density, "viscosity", o.viscosity, "impratio", o.impratio);
  a.read("tolerance", o.tolerance, "ls_tolerance", o.ls_tolerance);
  a.read("iterations", o.iterations, "ls_iterations", o.ls_iterations, "noslip_iterations",
         o.noslip_iterations);
  if (o.iterations < 1 || o.ls_iterations < 1) a.fail("needs at least one iteration");
  if (o.noslip_iterations < 0 || o.noslip_iterations > 10000)
    a.fail_at("noslip_iterations", "must lie between 0 and 10000");
  a.choose("integrator", o.integrator, rigid::kIntegrators);
  a.choose("cone", o.cone,
           {{"pyramidal", rigid::ConeType::pyramidal}, {"elliptic", rigid::ConeType::elliptic}});
  a.choose("solver", o.solver,
           {{"Newton", rigid::SolverType::newton},
            {"CG", rigid::SolverType::cg},
            {"PGS", rigid::SolverType::pgs}});
  if (o.solver == rigid::SolverType::pgs) {
    o.solver = rigid::SolverType::newton;
    spec_.warnings.push_back(e.where() +
                             ": solver PGS is replaced by Newton, which solves the same problem to its end");
  }
  a.refuse({"actuatorgroupdisable"});
  a.ignore({"jacobian", "noslip_tolerance", "ccd_tolerance", "ccd_iterations", "mpr_tolerance",
            "mpr_iterations", "sleep_tolerance", "sdf_iterations", "sdf_initpoints", "apirate", "collision",
            "o_margin", "o_solref", "o_solimp", "o_friction"});
  a.finish();
  for (const XmlElement& child : e.children) {
    if (child.name != "flag") fail_unknown_element(child, "option", {"flag"}, {});
    flag(child);
  }
}

void MjcfReader::flag(const XmlElement& e) {
  XmlAttributes a(e);
  rigid::Options& o = spec_.options;
  const auto read = [&](const char* name, bool& value) {
    a.choose(name, value, {{"enable", true}, {"disable", false}});
  };
  read("constraint", o.constraint);
  read("equality", o.equality);
  read("frictionloss", o.frictionloss);
  read("limit", o.limit);
  read("contact", o.contact);
  read("spring", o.spring);
  read("damper", o.damper);
  read("gravity", o.gravity_on);
  read("clampctrl", o.clampctrl);
  read("filterparent", o.filterparent);
  read("actuation", o.actuation);
  read("refsafe", o.refsafe);
  read("eulerdamp", o.eulerdamp);
  bool passive = true;  // springs and dampers in one, in older files
  read("passive", passive);
  if (!passive) o.spring = o.damper = false;
  for (const char* const name : {"override", "sleep", "diagexact", "ipc", "speculative", "invdiscrete"}) {
    bool enabled = false;
    read(name, enabled);
    if (enabled) a.fail_at(name, "is not supported");
  }
  // How fast MuJoCo computes, not what.
  a.ignore({"warmstart", "sensor", "midphase", "autoreset", "nativeccd", "island", "multiccd", "energy",
            "fwdinv", "sensornoise"});
  a.finish();
}

}  // namespace costate::io
