#include "costate/io/model/urdf.h"

#include <algorithm>
#include <map>
#include <set>

#include "costate/io/text/mesh_file.h"
#include "costate/io/text/xml_attributes.h"

namespace costate::io {
namespace {

using rigid::BodySpec;
using rigid::GeomType;
using rigid::JointType;
using rigid::Rotation;
using rigid::Vector;

constexpr int kMaxDepth = 400;
constexpr int kFoldersAbove = 4;  // where the files of a package may be

const XmlElement* child_of(const XmlElement& e, const char* name) {
  for (const XmlElement& child : e.children) {
    if (child.name == name) return &child;
  }
  return nullptr;
}

void check_children(const XmlElement& e, const std::vector<std::string>& known) {
  for (const XmlElement& child : e.children) {
    if (std::find(known.begin(), known.end(), child.name) == known.end())
      throw Error({"there is no element <" + child.name + "> in <" + e.name + ">", child.where(),
                   xml_suggestion(child.name, known)});
  }
}

struct Origin {
  Vector pos{0, 0, 0};
  Rotation quat{1, 0, 0, 0};
};

Origin origin_of(const XmlElement& e) {
  Origin origin;
  const XmlElement* const o = child_of(e, "origin");
  if (!o) return origin;
  XmlAttributes a(*o);
  Vector rpy{0, 0, 0};
  a.read("xyz", origin.pos);
  a.read("rpy", rpy);
  a.finish();
  origin.quat = rigid::from_euler(rpy, "XYZ");
  return origin;
}

struct UrdfJoint {
  const XmlElement* element;
  std::string name, type, parent, child;
};

class UrdfReader {
 public:
  UrdfReader(std::string path, const FileReader& files) : path_(std::move(path)), files_(files) {}

  rigid::Spec read(const XmlElement& root) {
    spec_.file = path_;
    spec_.name = "robot";
    XmlAttributes a(root);
    a.read("name", spec_.name);
    a.ignore({"version", "xmlns:xacro"});
    a.finish();
    spec_.compiler.inertia_from_geom = rigid::CompilerSpec::InertiaFromGeom::never;
    for (const XmlElement& e : root.children) {
      if (e.name == "link")
        add_link(e);
      else if (e.name == "joint")
        add_joint(e);
      else if (e.name == "transmission")
        warn(e, "<transmission> is not read: add actuators to the model");
      else if (e.name == "mujoco")
        warn(e, "<mujoco> is not read: bodies without joints stay bodies of their own, geoms have no mass");
      else if (e.name != "material" && e.name != "gazebo")
        throw Error({"there is no element <" + e.name + "> in <robot>", e.where(),
                     xml_suggestion(e.name, {"link", "joint", "material", "transmission", "gazebo"})});
    }
    build();
    return std::move(spec_);
  }

 private:
  void warn(const XmlElement& e, const std::string& what) {
    spec_.warnings.push_back(e.where() + ": " + what);
  }

  void add_link(const XmlElement& e) {
    XmlAttributes a(e);
    const std::string name = a.required("name");
    a.ignore({"type"});
    a.finish();
    check_children(e, {"inertial", "visual", "collision", "self_collision_checking", "contact", "verbose"});
    if (!links_.emplace(name, &e).second)
      throw Error({"there are two links named '" + name + "'", e.where(), {}});
    order_.push_back(name);
  }

  void add_joint(const XmlElement& e) {
    XmlAttributes a(e);
    UrdfJoint j{&e, a.required("name"), a.required("type"), {}, {}};
    a.finish();
    check_children(e, {"origin", "parent", "child", "axis", "calibration", "dynamics", "limit", "mimic",
                       "safety_controller"});
    const auto link = [&](const char* side) {
      const XmlElement* const at = child_of(e, side);
      if (!at) throw Error({"joint '" + j.name + "' needs a <" + side + ">", e.where(), {}});
      XmlAttributes b(*at);
      const std::string name = b.required("link");
      b.finish();
      return name;
    };
    j.parent = link("parent");
    j.child = link("child");
    joints_.push_back(std::move(j));
  }

  const XmlElement& link(const std::string& name, const UrdfJoint& joint) const {
    const auto found = links_.find(name);
    if (found == links_.end())
      throw Error({"joint '" + joint.name + "': there is no link '" + name + "'", joint.element->where(),
                   xml_suggestion(name, order_)});
    return *found->second;
  }

  // Links and joints are listed in any order: the tree is what their names say.
  void build() {
    std::set<std::string> children;
    for (const UrdfJoint& j : joints_) {
      link(j.parent, j);
      link(j.child, j);
      if (!children.insert(j.child).second)
        throw Error(
            {"link '" + j.child + "' is the child of two joints", j.element->where(), "a robot is a tree"});
      by_parent_[j.parent].push_back(&j);
    }
    std::vector<std::string> roots;
    for (const std::string& name : order_) {
      if (!children.count(name)) roots.push_back(name);
    }
    if (roots.empty())
      throw Error({"every link is the child of a joint", path_, "a robot has one root link"});
    if (roots.size() > 1)
      throw Error({"links '" + roots[0] + "' and '" + roots[1] + "' are both without a parent",
                   links_.at(roots[1])->where(), "a robot has one root link"});
    if (roots[0] == "world") {
      fill(*links_.at("world"), spec_.world);
      add_children("world", spec_.world, 0);
    } else {
      BodySpec base;
      base.name = roots[0];
      BodySpec& added = spec_.world.add(std::move(base));
      fill(*links_.at(roots[0]), added);
      add_children(roots[0], added, 0);
    }
  }

  void add_children(const std::string& parent, BodySpec& body, int depth) {
    const auto found = by_parent_.find(parent);
    if (found == by_parent_.end()) return;
    for (const UrdfJoint* const j : found->second) {
      if (depth > kMaxDepth) throw Error({"links are nested too deeply", j->element->where(), {}});
      const Origin origin = origin_of(*j->element);
      BodySpec child;
      child.name = j->child;
      child.pos = origin.pos;
      child.quat = origin.quat;
      BodySpec& added = body.add(std::move(child));
      fill(*links_.at(j->child), added);
      joint(*j, added);
      add_children(j->child, added, depth + 1);
    }
  }

  void joint(const UrdfJoint& j, BodySpec& body) {
    const XmlElement& e = *j.element;
    if (j.type == "fixed") return;
    rigid::JointSpec s;
    s.name = j.name;
    s.where = e.where();
    if (j.type == "revolute" || j.type == "continuous")
      s.type = JointType::hinge;
    else if (j.type == "prismatic")
      s.type = JointType::slide;
    else if (j.type == "floating")
      s.type = JointType::free;
    else
      throw Error({"joint '" + j.name + "': the type '" + j.type + "' is not supported", e.where(),
                   xml_suggestion(j.type, {"revolute", "continuous", "prismatic", "fixed", "floating"})});
    s.axis = {1, 0, 0};
    if (const XmlElement* const axis = child_of(e, "axis")) {
      XmlAttributes a(*axis);
      a.read("xyz", s.axis);
      a.finish();
    }
    if (const XmlElement* const limit = child_of(e, "limit")) {
      XmlAttributes a(*limit);
      double effort = 0, velocity = 0;
      a.read("lower", s.range[0]);
      a.read("upper", s.range[1]);
      a.read("effort", effort);
      a.read("velocity", velocity);
      a.finish();
      if (effort > 0 && s.type != JointType::free) s.actuator_force_range = {-effort, effort};
      if (velocity > 0) warn(*limit, "the velocity limit of joint '" + j.name + "' is not enforced");
    } else if (j.type == "revolute" || j.type == "prismatic") {
      throw Error({"joint '" + j.name + "' needs a <limit>", e.where(),
                   "a joint without limits is of type continuous"});
    }
    s.limited = j.type == "revolute" || j.type == "prismatic";
    if (!*s.limited) s.range = {0, 0};
    if (const XmlElement* const dynamics = child_of(e, "dynamics")) {
      XmlAttributes a(*dynamics);
      a.read("damping", s.damping);
      a.read("friction", s.frictionloss);
      a.finish();
    }
    if (const XmlElement* const mimic = child_of(e, "mimic")) {
      XmlAttributes a(*mimic);
      rigid::EqualitySpec q;
      q.type = rigid::EqualityType::joint;
      q.first = j.name;
      q.second = a.required("joint");
      q.polycoef = {0, 1, 0, 0, 0};
      a.read("offset", q.polycoef[0]);
      a.read("multiplier", q.polycoef[1]);
      a.finish();
      q.where = mimic->where();
      spec_.add(std::move(q));
    }
    body.add(std::move(s));
  }

  void fill(const XmlElement& e, BodySpec& body) {
    body.where = e.where();
    for (const XmlElement& child : e.children) {
      if (child.name == "inertial") inertial(child, body);
      if (child.name == "visual" || child.name == "collision") geometry(child, body);
    }
  }

  void inertial(const XmlElement& e, BodySpec& body) {
    XmlAttributes(e).finish();
    check_children(e, {"origin", "mass", "inertia"});
    rigid::InertialSpec i;
    i.where = e.where();
    const Origin origin = origin_of(e);
    i.pos = origin.pos;
    i.quat = origin.quat;
    if (body.inertial) throw Error({"<inertial> is there twice", e.where(), {}});
    const XmlElement *const mass = child_of(e, "mass"), *const inertia = child_of(e, "inertia");
    if (!mass || !inertia) throw Error({"<inertial> needs a <mass> and an <inertia>", e.where(), {}});
    XmlAttributes a(*mass);
    a.required("value");
    a.read("value", i.mass);
    a.finish();
    XmlAttributes b(*inertia);
    for (const char* const name : {"ixx", "iyy", "izz"}) b.required(name);
    b.read("ixx", i.inertia.xx);
    b.read("iyy", i.inertia.yy);
    b.read("izz", i.inertia.zz);
    b.read("ixy", i.inertia.xy);
    b.read("ixz", i.inertia.xz);
    b.read("iyz", i.inertia.yz);
    b.finish();
    if (&body != &spec_.world) body.set(std::move(i));
  }

  void geometry(const XmlElement& e, BodySpec& body) {
    XmlAttributes a(e);
    std::string name;
    a.read("name", name);  // names of URDF geometry need not differ: geoms stay without
    a.ignore({"group"});
    a.finish();
    check_children(e, {"origin", "geometry", "material", "contact_coefficients", "verbose"});
    const bool visual = e.name == "visual";
    const XmlElement* const shape = child_of(e, "geometry");
    if (!shape || shape->children.size() != 1)
      throw Error({"<" + e.name + "> needs one shape in <geometry>", e.where(), {}});
    const XmlElement& s = shape->children[0];
    rigid::GeomSpec g;
    g.where = s.where();
    const Origin origin = origin_of(e);
    g.pos = origin.pos;
    g.quat = origin.quat;
    g.mass = 0.0;
    g.group = visual ? 2 : 0;
    g.contype = g.conaffinity = visual ? 0 : 1;
    XmlAttributes b(s);
    if (s.name == "box") {
      g.type = GeomType::box;
      b.required("size");
      b.read("size", g.size);
      for (double& side : g.size) side /= 2;
    } else if (s.name == "sphere") {
      b.required("radius");
      b.read("radius", g.size[0]);
    } else if (s.name == "cylinder" || s.name == "capsule") {
      g.type = s.name == "cylinder" ? GeomType::cylinder : GeomType::capsule;
      b.required("radius");
      b.required("length");
      b.read("radius", g.size[0]);
      b.read("length", g.size[1]);
      g.size[1] /= 2;
    } else if (s.name == "mesh") {
      g.type = GeomType::mesh;
      if (!mesh(b, visual, g.mesh)) return;
    } else {
      throw Error({"there is no shape <" + s.name + ">", s.where(),
                   xml_suggestion(s.name, {"box", "sphere", "cylinder", "capsule", "mesh"})});
    }
    b.finish();
    body.add(std::move(g));
  }

  // Whether there is a mesh; one that is only seen may be missing.
  bool mesh(XmlAttributes& a, bool visual, std::string& name) {
    const std::string file = a.required("filename");
    Vector scale{1, 1, 1};
    a.read("scale", scale);
    name =
        file + "*" + std::to_string(scale.x) + "," + std::to_string(scale.y) + "," + std::to_string(scale.z);
    if (meshes_.count(name)) return true;
    rigid::MeshSpec mesh;
    mesh.name = name;
    mesh.where = a.where();
    try {
      TriangleMesh triangles = find_mesh(file);
      mesh.vertices = std::move(triangles.vertices);
      mesh.faces = std::move(triangles.faces);
    } catch (const Error& error) {
      if (!visual) throw Error({error.message().what, a.where(), error.message().advice});
      warn(a.element(), "the mesh '" + file + "' is not shown: " + error.message().what);
      return false;
    }
    for (Vector& v : mesh.vertices) v = {v.x * scale.x, v.y * scale.y, v.z * scale.z};
    if (scale.x * scale.y * scale.z < 0) {
      for (auto& f : mesh.faces) std::swap(f[1], f[2]);
    }
    meshes_.insert(name);
    spec_.add(std::move(mesh));
    return true;
  }

  TriangleMesh find_mesh(const std::string& file) const {
    std::string local = file;
    bool package = false;
    if (file.starts_with("package://")) {
      const std::size_t slash = file.find('/', 10);
      local = slash == std::string::npos ? "" : file.substr(slash + 1);
      package = true;
    } else if (file.starts_with("file://")) {
      local = file.substr(7);
    }
    if (local.starts_with('/')) return parse_mesh(files_(local), local);
    std::string folder = folder_of(path_);
    for (int up = 0;; ++up) {
      const std::string candidate = folder + local;
      try {
        return parse_mesh(files_(candidate), candidate);
      } catch (const Error& error) {
        // A file that is there but wrong is not looked for elsewhere.
        const bool missing = error.message().what.starts_with("cannot read");
        if (!missing || !package || up == kFoldersAbove) {
          if (missing) throw Error({"cannot read the file '" + file + "'", path_, {}});
          throw;
        }
      }
      folder += "../";
    }
  }

  std::string path_;
  const FileReader& files_;
  rigid::Spec spec_;
  std::map<std::string, const XmlElement*> links_;
  std::vector<std::string> order_;
  std::vector<UrdfJoint> joints_;
  std::map<std::string, std::vector<const UrdfJoint*>> by_parent_;
  std::set<std::string> meshes_;
};

}  // namespace

rigid::Spec read_urdf(const XmlElement& root, const std::string& path, const FileReader& files) {
  if (root.name != "robot")
    throw Error(
        {"the root element is <" + root.name + ">, not <robot>", root.where(), "this is not a URDF file"});
  return UrdfReader(path, files).read(root);
}

rigid::Spec parse_urdf(const std::string& text, const std::string& path, const FileReader& files) {
  return read_urdf(parse_xml(text, path, files), path, files);
}

}  // namespace costate::io
