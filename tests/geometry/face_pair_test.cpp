// Two polyhedra that lie on each other with a face each: MuJoCo's contacts, and the transpose.
#include "costate/geometry/face_pair.h"

#include <array>

#include "costate/core/quat.h"
#include "tests/geometry/polyhedra.h"
#include "tests/geometry/shapes.h"

namespace costate::geometry::test {
namespace {

using enum ShapeType;

struct Reference {
  ShapeType first;  // at the origin; the second is a mesh
  Vec3<double> x;
  Quat<double> turn;
  Vec3<double> normal;
  std::vector<std::array<double, 4>> contact;  // distance and point
  bool roofs = false;                          // both are roofs, which touch with their ridges
};
// From the PyPI package mujoco 4.0, with a ccd_tolerance of 1e-14; both shapes are 0.6 x 0.4 x 0.2. The faces
// overlap in four corners at most: of more, MuJoCo keeps others than the widest.
const Reference kReferences[] = {
    {mesh,
     {0.20000000000000001, 0.11, 0.188},
     {0.9994161223084983, 0.0070906548695259964, 0.020617573929110771, 0.026306895077973628},
     {0.0415841378027, -0.0130882608804, 0.999049276518},
     {{-0.00270251645331, -0.0930861970518, -0.104239196134, 0.0986500279364},
      {-0.0187737262757, 0.299609667311, -0.0833058474096, 0.0906220626635},
      {-0.015064137403, 0.299686797338, 0.20009858466, 0.0924750937032}}},
    {mesh,
     {-0.22, 0.13, 0.188},
     {0.99963642502553618, 0.01468174790386151, -0.014132043089928938, -0.017656426556854274},
     {-0.0287722644726, -0.0288537772137, 0.999169463273},
     {{-0.0123551072208, -0.299822269715, 0.200178248736, 0.0938275785649},
      {-0.0199779911239, -0.299712605899, -0.063901932762, 0.0900193021558},
      {-0.00955876940654, 0.07573086398, -0.0774802952186, 0.0952245862414},
      {-0.00126949004328, 0.0853065619649, 0.200018317772, 0.0993657836475}}},
    {box,
     {0.20000000000000001, 0.11, 0.188},
     {0.99941676170483806, -0.0099455520283824907, 0.019824032391232073, 0.025965942270921256},
     {0.0391084492531, 0.0209090021644, 0.999016187469},
     {{-0.0118792285676, 0.299767710896, -0.087082100645, 0.0940662291832},
      {-0.0178792321129, 0.299650385479, 0.199813081549, 0.0910691788498},
      {-0.0018876582513, -0.108940209243, 0.199980265475, 0.0990570994253}}},
    {box,
     {-0.22, 0.13, 0.188},
     {0.99936327210551734, -0.026187171244602039, 0.016358507359059395, -0.017879643893080503},
     {0.0336326174751, 0.051756025712, 0.998093262598},
     {{-0.0107315585287, 0.06912796479, -0.0860291231021, 0.0946444518677},
      {-0.025856805613, 0.0788606354562, 0.199330877252, 0.0870962482627},
      {-0.0131001067833, -0.30022029544, 0.199660995268, 0.0934624358401}}},
    // Of the four pairs of faces at two ridges the one that is nearest to parallel counts, though others are
    // nearer to the contact's normal.
    {mesh,
     {0.0273, 0.0468, 0.1865},
     {0.43389535389263734, 0.007666463765484437, -0.016712989602027342, 0.9007756231061529},
     {-0.039739246687, -0.067823010282, 0.996905628206},
     {{-0.012701265228393618, 0.21462719008279219, -0.18415648255765027, 0.08443966207834017},
      {-0.008071711613723833, 0.30016039379043286, -0.11606947047180889, 0.09015947570377936},
      {-0.005980123913250938, 0.3001188347306344, 0.00020279500282695677, 0.09701919189687157},
      {-0.015238300402062034, 0.06732966613588773, 0.0005167537024218986, 0.09240442777256087}},
     true},
    {mesh,
     {-0.0908, -0.0636, 0.1903},
     {0.9175638347912196, -0.006067048964491666, 0.002237339916891456, 0.3975359031712611},
     {-0.037149333562, 0.047046715676, 0.998201649748},
     {{-0.00028836043507104666, 0.24410876995923217, -6.783205700438451e-06, 0.0998560805591115},
      {-0.004663467924968316, 0.11453454403589236, 0.15408268319990637, 0.08996284334399156},
      {-0.010485339938647842, -0.03018802728061843, -0.0002466504034276941, 0.09476675967765205}},
     true}};

// A slab with a flat roof on both sides, ridges along x.
ConvexMesh roof_mesh() {
  const double outline[6][2] = {{-0.2, -0.09}, {0, -0.1}, {0.2, -0.09}, {0.2, 0.09}, {0, 0.1}, {-0.2, 0.09}};
  std::vector<Vec3<double>> points;
  std::vector<std::array<int, 3>> triangles;
  for (const double x : {-0.3, 0.3})
    for (const auto& p : outline) points.push_back({x, p[0], p[1]});
  for (int k = 0; k < 6; ++k) {
    const int next = (k + 1) % 6;
    triangles.push_back({k, next, k + 6});
    triangles.push_back({k + 6, next, next + 6});
  }
  for (int k = 1; k < 5; ++k) {
    triangles.push_back({0, k + 1, k});
    triangles.push_back({6, k + 6, k + 7});
  }
  return convex_mesh(points, triangles);
}

TEST(FacePair, ContactsAreMuJoCos) {
  const ConvexMesh slab = box_mesh(0.3, 0.2, 0.1), roof = roof_mesh();
  for (const Reference& r : kReferences) {
    Scene scene{{r.first, mesh}, {}, 0};
    for (Shape<double>& s : scene.shapes) {
      s.x = Vec3<double>::zero();
      s.R = Mat3<double>::identity();
      s.mesh = r.roofs ? &roof : &slab;
      s.size[0] = 0.3;
      s.size[1] = 0.2;
      s.size[2] = 0.1;
    }
    scene.shapes[1].x = r.x;
    scene.shapes[1].R = to_matrix(r.turn);
    auto found = contacts(scene, scene.shapes[0], scene.shapes[1]);
    std::erase_if(found, [](const ContactPoint<double>& c) { return c.dist > 0; });
    ASSERT_EQ(found.size(), r.contact.size());
    for (const auto& expected : r.contact) {
      const Vec3<double> point = {expected[1], expected[2], expected[3]};
      const auto& nearest = *std::min_element(found.begin(), found.end(), [&](const auto& a, const auto& b) {
        return squared_norm(a.point - point) < squared_norm(b.point - point);
      });
      EXPECT_NEAR(nearest.dist, expected[0], 5e-8);  // its meshes are of single precision
      for (int i = 0; i < 3; ++i) {
        EXPECT_NEAR(nearest.point[i], point[i], 1e-7);
        EXPECT_NEAR(nearest.normal[i], r.normal[i], 1e-7);
      }
    }
  }
}

// The second on top of the first, turned about the normal and tilted a little.
Sampler stacked(ShapeType first, ShapeType second, double tilt) {
  return [=](std::mt19937& rng) {
    Scene scene = near_each_other(first, second)(rng);
    Shape<double>&below = scene.shapes[0], &above = scene.shapes[1];
    const auto height = [](ShapeType type, Shape<double>& s) {
      s.mesh = &brick();
      return type == box ? s.size[2] : 0.25;
    };
    const double depth = uniform(rng, 0.001, 0.02);
    const Vec3<double> offset = {uniform(rng, -0.1, 0.1), uniform(rng, -0.1, 0.1),
                                 height(first, below) + height(second, above) - depth};
    const Vec3<double> axis = {uniform(rng, -1, 1), uniform(rng, -1, 1), 0};
    above.x = below.x + below.R * offset;
    above.R = below.R * rotation({0, 0, uniform(rng, -3, 3)}) *
              rotation((tilt / std::sqrt(squared_norm(axis))) * axis);
    return scene;
  };
}

TEST(FacePair, TransposeIsExact) {
  expect_pair(stacked(mesh, mesh, 0.03), 60);
  expect_pair(stacked(box, mesh, 0.03), 60);
}

TEST(FacePair, LanesAreIndependent) { expect_lanes<double>(stacked(box, mesh, 0.05), 1e-9); }

TEST(FacePair, TheNormalIsOfTheSecondFaceWithinFiveDegrees) {
  std::mt19937 rng(3);
  for (const double tilt : {0.02, 0.08, 0.1}) {
    const Sampler sample = stacked(box, mesh, tilt);
    for (int n = 0; n < 20; ++n) {
      const Scene scene = sample(rng);
      int count = 0;
      for (const auto& c : contacts(scene, scene.shapes[0], scene.shapes[1])) {
        if (!present(c, scene.margin)) continue;
        ++count;
        if (tilt > 0.09) continue;
        EXPECT_NEAR(dot(c.normal, scene.shapes[1].R.column(2)), 1, 1e-12);
      }
      if (tilt > 0.09)
        EXPECT_LE(count, 2);
      else
        EXPECT_GE(count, 3);
    }
  }
}

// Corners on an ellipse, few and many: no quadrilateral of theirs is wider.
TEST(WidestFour, NoFourCornersSpanMore) {
  for (const int count : {5, 9, 12, 13, 30}) {
    std::vector<Vec3<double>> v;
    for (int k = 0; k < count; ++k) {
      const double angle = 6.28 * (k + 0.3 * std::sin(5.0 * k)) / count;
      v.push_back({std::cos(angle), 0.4 * std::sin(angle), 0.1 * std::cos(angle)});
    }
    const auto area = [&](int a, int b, int c, int d) {
      return std::sqrt(squared_norm(cross(v[c] - v[a], v[d] - v[b])));
    };
    double most = 0;
    for (int a = 0; a < count; ++a)
      for (int b = a + 1; b < count; ++b)
        for (int c = b + 1; c < count; ++c)
          for (int d = c + 1; d < count; ++d) most = std::max(most, area(a, b, c, d));
    int chosen[4];
    ASSERT_EQ(widest_four(v.data(), count, chosen), 4);
    EXPECT_NEAR(area(chosen[0], chosen[1], chosen[2], chosen[3]), most, 1e-8);
  }
}

}  // namespace
}  // namespace costate::geometry::test
