// Rigid shapes, moving meshes and the floor.

const glassVertex = `
varying vec3 at, normalAt;
void main() {
  vec4 eye = modelViewMatrix * vec4(position, 1.);
  at = eye.xyz;
  normalAt = normalMatrix * normal;
  gl_Position = projectionMatrix * eye;
}`;
// Clear where it is seen face on, opaque and bright towards its edges.
const glassFragment = `
uniform vec3 colour, sun;
uniform float opacity;
varying vec3 at, normalAt;
void main() {
  vec3 towards = normalize(-at), n = normalize(normalAt);
  if (dot(n, towards) < 0.) n = -n;
  float facing = dot(n, towards);
  float edge = pow(1. - facing, 2.5);
  float gloss = pow(max(0., dot(n, normalize(sun + towards))), 90.);
  vec3 shade = colour * (.45 + .55 * (.5 + .5 * dot(n, sun)));
  gl_FragColor = vec4(mix(shade, vec3(1.), .35 * edge) + gloss * .8, clamp(opacity * (.16 + .2 * opacity) + (.25 + .55 * opacity) * edge + .6 * gloss, 0., 1.));
  #include <tonemapping_fragment>
  #include <encodings_fragment>
}`;

function shapeGeometry(shape) {
  const [a, b, c] = shape.size;
  const alongZ = g => g.rotateX(Math.PI / 2);
  switch (shape.kind) {
    case 'sphere': return new THREE.SphereBufferGeometry(a, 40, 24);
    case 'ellipsoid': return new THREE.SphereBufferGeometry(1, 40, 24).scale(a, b, c);
    case 'box': return new THREE.BoxBufferGeometry(2 * a, 2 * b, 2 * c);
    case 'cylinder': return alongZ(new THREE.CylinderBufferGeometry(a, a, 2 * b, 48));
    case 'plane': return new THREE.PlaneBufferGeometry(2 * a, 2 * b);
    case 'capsule': {
      const line = [];
      for (let i = 0; i <= 16; ++i) line.push(new THREE.Vector2(a * Math.sin(i * Math.PI / 32), -b - a * Math.cos(i * Math.PI / 32)));
      for (let i = 16; i >= 0; --i) line.push(new THREE.Vector2(a * Math.sin(i * Math.PI / 32), b + a * Math.cos(i * Math.PI / 32)));
      return alongZ(new THREE.LatheBufferGeometry(line, 40));
    }
    case 'revolution': {
      const line = [];
      for (let i = 0; i < shape.profile.length; i += 2) line.push(new THREE.Vector2(shape.profile[i], shape.profile[i + 1]));
      return alongZ(new THREE.LatheBufferGeometry(line, 72));
    }
    default: {
      const g = new THREE.BufferGeometry();
      g.setAttribute('position', new THREE.BufferAttribute(shape.vertices, 3));
      g.setIndex(new THREE.BufferAttribute(shape.triangles, 1));
      g.computeVertexNormals();
      return g;
    }
  }
}

function surface(colour, opacity, sun) {
  if (opacity >= 1) return new THREE.MeshStandardMaterial({color: linearColour(colour), roughness: 0.55, metalness: 0, side: THREE.DoubleSide});
  return new THREE.ShaderMaterial({
    uniforms: {colour: {value: linearColour(colour)}, opacity: {value: opacity}, sun: {value: sun}},
    vertexShader: glassVertex, fragmentShader: glassFragment, transparent: true, depthWrite: false,
  });
}

const flatSurface = colour => new THREE.MeshBasicMaterial({color: linearColour(colour), side: THREE.DoubleSide});

class RigidShape {
  constructor(body, sun, flat) {
    this.poses = body.poses;
    this.object = new THREE.Group();
    const geometry = flat ? crossSection(body.shape) : shapeGeometry(body.shape);
    const add = (side, order) => {
      const mesh = new THREE.Mesh(geometry, flat ? flatSurface(body.color) : surface(body.color, body.opacity, sun));
      if (body.opacity < 1 && !flat) mesh.material.side = side;
      mesh.renderOrder = order;
      mesh.castShadow = body.opacity > 0.35 && body.shape.kind !== 'plane';
      mesh.receiveShadow = true;
      this.object.add(mesh);
    };
    add(THREE.BackSide, 1);
    if (body.opacity < 1 && !flat) add(THREE.FrontSide, 2);  // behind first
    this.show(0);
  }

  show(at) {
    const count = this.poses.length / 7;
    const i = Math.min(Math.floor(at), count - 1), j = Math.min(i + 1, count - 1), s = Math.min(1, at - i);
    const p = k => new THREE.Vector3().fromArray(this.poses, 7 * k);
    const q = k => new THREE.Quaternion(this.poses[7 * k + 4], this.poses[7 * k + 5], this.poses[7 * k + 6], this.poses[7 * k + 3]);
    this.object.position.copy(p(i).lerp(p(j), count > 1 ? s : 0));
    this.object.quaternion.copy(q(i).slerp(q(j), count > 1 ? s : 0));
  }
}

class MovingMesh {
  constructor(mesh, frames, sun) {
    this.data = mesh;
    this.frames = frames;
    this.length = mesh.vertices.length / frames;
    this.at = -1;
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(this.length), 3));
    geometry.setIndex(new THREE.BufferAttribute(mesh.triangles, 1));
    this.object = new THREE.Mesh(geometry, surface(mesh.color, mesh.opacity, sun));
    if (mesh.opacity < 1) this.object.material.side = THREE.DoubleSide;
    this.object.castShadow = this.object.receiveShadow = true;
    this.object.frustumCulled = false;
    this.show(0);
  }

  show(at) {
    if (at === this.at) return;
    this.at = at;
    const frame = Math.min(Math.floor(at), this.frames - 1), next = Math.min(frame + 1, this.frames - 1), s = at - frame;
    const {low, high, vertices} = this.data;
    const out = this.object.geometry.attributes.position.array;
    for (let i = 0; i < this.length; ++i) {
      const a = vertices[frame * this.length + i], b = vertices[next * this.length + i], k = i % 3;
      out[i] = low[k] + (high[k] - low[k]) * (a + s * (b - a)) / 65535;
    }
    this.object.geometry.attributes.position.needsUpdate = true;
    this.object.geometry.computeVertexNormals();
  }
}

// In two dimensions: what a plane through the middle of a shape shows of it.
function crossSection(shape) {
  const [a, b] = shape.size, path = new THREE.Shape();
  const alongZ = g => g.rotateX(Math.PI / 2);
  const polygon = points => points.forEach(([x, y], i) => i ? path.lineTo(x, y) : path.moveTo(x, y));
  switch (shape.kind) {
    case 'sphere': return new THREE.CircleBufferGeometry(a, 64);
    case 'ellipsoid': return new THREE.CircleBufferGeometry(1, 64).scale(a, b, 1);
    case 'box': return new THREE.PlaneBufferGeometry(2 * a, 2 * b);
    case 'cylinder': return alongZ(new THREE.PlaneBufferGeometry(2 * a, 2 * b));
    case 'capsule':
      path.absarc(0, b, a, 0, Math.PI);
      path.absarc(0, -b, a, Math.PI, 2 * Math.PI);
      return alongZ(new THREE.ShapeBufferGeometry(path, 24));
    case 'revolution': {
      const half = [];
      for (let i = 0; i < shape.profile.length; i += 2) half.push([shape.profile[i], shape.profile[i + 1]]);
      polygon([...half, ...half.map(([x, y]) => [-x, y]).reverse()]);
      return alongZ(new THREE.ShapeBufferGeometry(path));
    }
    default: return shapeGeometry(shape);
  }
}

// 1, 2 or 5 times a power of ten, at most `size`.
function roundLength(size) {
  const power = Math.pow(10, Math.floor(Math.log10(size)));
  return power * (size >= 5 * power ? 5 : size >= 2 * power ? 2 : 1);
}

// Lines at multiples of `cell` on the plane of two axes, fading outwards from the centre. They stand still in
// the world, so that one sees what moves.
function makeGrid(centre, radius, cell, [first, second]) {
  const places = [], colours = [], ink = linearColour(0xb5aa98), paper = linearColour(0xf4f1ec);
  const point = (u, v) => {
    const p = {x: 0, y: 0, z: 0};
    p[first] = u;
    p[second] = v;
    const away = Math.hypot(u - centre[first], v - centre[second]) / radius;
    const shade = ink.clone().lerp(paper, Math.min(1, away * away));
    places.push(p.x, p.y, p.z);
    colours.push(shade.r, shade.g, shade.b);
  };
  const lines = (along, across, put) => {
    for (let i = Math.ceil((centre[across] - radius) / cell); i * cell <= centre[across] + radius; ++i)
      for (let k = -16; k < 16; ++k) {
        put(centre[along] + radius * k / 16, i * cell);
        put(centre[along] + radius * (k + 1) / 16, i * cell);
      }
  };
  lines(first, second, (u, v) => point(u, v));
  lines(second, first, (v, u) => point(u, v));
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.Float32BufferAttribute(places, 3));
  geometry.setAttribute('color', new THREE.Float32BufferAttribute(colours, 3));
  const grid = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial(
      {vertexColors: true, transparent: true, opacity: 0.75, depthWrite: false}));
  grid.renderOrder = 0;  // over the floor
  return grid;
}

// A round floor that fades into the background.
function makeFloor(radius) {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 512;
  const context = canvas.getContext('2d');
  const fade = context.createRadialGradient(256, 256, 40, 256, 256, 256);
  fade.addColorStop(0, '#fff');
  fade.addColorStop(0.55, '#aaa');
  fade.addColorStop(1, '#000');
  context.fillStyle = fade;
  context.fillRect(0, 0, 512, 512);
  const floor = new THREE.Mesh(new THREE.CircleBufferGeometry(radius, 96), new THREE.MeshStandardMaterial({
    color: linearColour(0xf3ede3), roughness: 1, alphaMap: new THREE.CanvasTexture(canvas), transparent: true, depthWrite: false,
  }));
  floor.rotation.x = -Math.PI / 2;
  floor.receiveShadow = true;
  floor.renderOrder = -1;
  return floor;
}
