// <contact>, <equality> and <tendon>.
#include "costate/io/model/mjcf_reader.h"

namespace costate::io {

using rigid::EqualityType;
using rigid::TendonPoint;
using rigid::TendonType;

void MjcfReader::pair(XmlAttributes& a, rigid::PairSpec& p) {
  p.where = a.where();
  a.read("name", p.name);
  a.read("geom1", p.geom1);
  a.read("geom2", p.geom2);
  a.read("condim", p.condim);
  a.read_some("friction", p.friction);
  read_softness(a, "solref", "solimp", p.contact);
  a.read_some("solreffriction", p.solreffriction);
  a.read("margin", p.margin);
  a.read("gap", p.gap);
  a.refuse({"adhesion"});
}

void MjcfReader::contact(const XmlElement& e) {
  XmlAttributes(e).finish();
  for (const XmlElement& child : e.children) {
    if (child.name == "pair") {
      XmlAttributes a = with_defaults(child);
      rigid::PairSpec p;
      a.required("geom1");
      a.required("geom2");
      pair(a, p);
      a.finish();
      spec_.add(std::move(p));
    } else if (child.name == "exclude") {
      XmlAttributes a(child);
      rigid::ExcludeSpec x;
      x.where = child.where();
      a.read("name", x.name);
      x.body1 = a.required("body1");
      x.body2 = a.required("body2");
      a.finish();
      spec_.add(std::move(x));
    } else {
      fail_unknown_element(child, "contact", {"pair", "exclude"}, {});
    }
  }
}

void MjcfReader::equality_attributes(XmlAttributes& a, rigid::EqualitySpec& q) {
  q.where = a.where();
  a.read("active", q.active);
  read_softness(a, "solref", "solimp", q.softness);
}

void MjcfReader::equality(const XmlElement& e) {
  XmlAttributes(e).finish();
  for (const XmlElement& child : e.children) {
    // <equality> in a default class is for every kind of constraint; <joint> and <tendon> there mean
    // something else.
    XmlElement named = child;
    named.name = "equality";
    XmlAttributes a(child, defaults_.merged(named, ""));
    rigid::EqualitySpec q;
    equality_attributes(a, q);
    a.read("name", q.name);
    if (child.name == "connect" || child.name == "weld") {
      q.type = child.name == "weld" ? EqualityType::weld : EqualityType::connect;
      q.sites = a.has("site1") || a.has("site2");
      q.first = a.required(q.sites ? "site1" : "body1");
      if (q.sites)
        q.second = a.required("site2");
      else
        a.read("body2", q.second);
      if (q.sites && (a.has("body1") || a.has("body2") || a.has("anchor") || a.has("relpose")))
        a.fail("between sites has no bodies, anchor or relpose");
      a.read("anchor", q.anchor);
      if (q.type == EqualityType::connect && !q.sites) a.required("anchor");
      if (q.type == EqualityType::weld) {
        a.read("relpose", q.relpose);
        a.read("torquescale", q.torquescale);
        if (q.relpose && (*q.relpose)[3] == 0 && (*q.relpose)[4] == 0 && (*q.relpose)[5] == 0 &&
            (*q.relpose)[6] == 0)
          q.relpose.reset();  // no quaternion: as in qpos0
      }
    } else if (child.name == "joint" || child.name == "tendon") {
      const bool joints = child.name == "joint";
      q.type = joints ? EqualityType::joint : EqualityType::tendon;
      q.first = a.required(joints ? "joint1" : "tendon1");
      a.read(joints ? "joint2" : "tendon2", q.second);
      a.read_some("polycoef", q.polycoef);
    } else {
      fail_unknown_element(child, "equality", {"connect", "weld", "joint", "tendon"},
                           {"flex", "flexvert", "flexstrain", "distance"});
    }
    a.finish();
    spec_.add(std::move(q));
  }
}

void MjcfReader::tendon_attributes(XmlAttributes& a, rigid::TendonSpec& t) {
  t.where = a.where();
  a.read("name", t.name);
  for (const auto& [name, value] : {std::pair{"stiffness", &t.stiffness}, {"damping", &t.damping}}) {
    const std::vector<double> v = a.numbers_then_zeros(name, 1, 8);
    if (!v.empty()) *value = v[0];
  }
  a.read("frictionloss", t.frictionloss);
  a.read("armature", t.armature);
  const std::vector<double> rest = a.numbers("springlength", 1, 2);
  if (!rest.empty()) t.springlength = {rest[0], rest.back()};
  a.read("limited", t.limited);
  a.read("range", t.range);
  a.read("margin", t.margin);
  read_softness(a, "solreflimit", "solimplimit", t.limit);
  read_softness(a, "solreffriction", "solimpfriction", t.friction);
  a.read("actuatorfrclimited", t.actuator_force_limited);
  a.read("actuatorfrcrange", t.actuator_force_range);
  a.read("group", t.group);
  a.refuse({"springyield"});
  a.ignore({"width", "material", "rgba", "user"});
}

void MjcfReader::tendon(const XmlElement& e) {
  XmlAttributes(e).finish();
  for (const XmlElement& child : e.children) {
    if (child.name != "fixed" && child.name != "spatial")
      fail_unknown_element(child, "tendon", {"fixed", "spatial"}, {});
    XmlAttributes a = with_defaults(child);
    rigid::TendonSpec t;
    t.type = child.name == "fixed" ? TendonType::fixed : TendonType::spatial;
    tendon_attributes(a, t);
    a.finish();
    for (const XmlElement& point : child.children) {
      XmlAttributes b(point);
      TendonPoint p;
      p.where = point.where();
      if (point.name == "joint" && t.type == TendonType::fixed) {
        p.kind = TendonPoint::Kind::joint;
        p.object = b.required("joint");
        b.required("coef");
        b.read("coef", p.value);
      } else if (point.name == "site" && t.type == TendonType::spatial) {
        p.kind = TendonPoint::Kind::site;
        p.object = b.required("site");
      } else if (point.name == "geom" && t.type == TendonType::spatial) {
        p.kind = TendonPoint::Kind::geom;
        p.object = b.required("geom");
        b.read("sidesite", p.sidesite);
      } else if (point.name == "pulley" && t.type == TendonType::spatial) {
        p.kind = TendonPoint::Kind::pulley;
        b.required("divisor");
        b.read("divisor", p.value);
      } else {
        fail_unknown_element(point, child.name,
                             t.type == TendonType::fixed ? std::vector<std::string>{"joint"}
                                                         : std::vector<std::string>{"site", "geom", "pulley"},
                             {});
      }
      b.finish();
      t.path.push_back(std::move(p));
    }
    spec_.add(std::move(t));
  }
}

}  // namespace costate::io
