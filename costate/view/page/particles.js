// Particles as spheres: each is one point whose fragments are shaded and placed in depth as those of a sphere. Positions stay in
// 16 bits on the graphics card, which also blends between two frames.

const particleVertex = `
attribute vec3 next;
attribute vec3 tint;
attribute float speed;
attribute float speedNext;
uniform vec3 low, edge;
uniform float blend, radius, scale, bySpeed;
varying vec3 centre, colour;
vec3 heat(float s) {  // dark blue, teal, warm yellow
  return s < .5 ? mix(vec3(.03, .07, .22), vec3(.06, .36, .40), 2. * s) : mix(vec3(.06, .36, .40), vec3(.95, .62, .16), 2. * s - 1.);
}
void main() {
  vec4 eye = modelViewMatrix * vec4(low + edge * mix(position, next, blend), 1.);
  centre = eye.xyz;
  float s = mix(speed, speedNext, blend);
  colour = mix(tint * (1. + .55 * s * s), heat(s), bySpeed);
  gl_Position = projectionMatrix * eye;
  gl_PointSize = 2. * radius * scale / gl_Position.w;
}`;

const particleFragment = `
uniform float radius;
uniform vec3 sun;
uniform mat4 projectionMatrix;
varying vec3 centre, colour;
void main() {
  vec2 c = 2. * gl_PointCoord - 1.;
  float inside = 1. - dot(c, c);
  if (inside < 0.) discard;
  vec3 n = vec3(c.x, -c.y, sqrt(inside));
  vec3 at = centre + radius * n;
  vec4 clip = projectionMatrix * vec4(at, 1.);
  gl_FragDepthEXT = .5 * clip.z / clip.w + .5;
  vec3 towards = normalize(-at);
  vec3 half_way = normalize(sun + towards);
  float light = .5 + .5 * dot(n, sun);
  float gloss = pow(max(0., dot(n, half_way)), 60.);
  float rim = pow(1. - n.z, 3.);
  vec3 shaded = colour * (.26 + .95 * light * light) * mix(1., .62, rim) + vec3(.22) * gloss + vec3(.05, .055, .06) * rim;
  gl_FragColor = vec4(shaded, 1.);
  #include <tonemapping_fragment>
  #include <encodings_fragment>
}`;

const shadowFragment = `
#include <packing>
void main() {
  vec2 c = 2. * gl_PointCoord - 1.;
  if (dot(c, c) > 1.) discard;
  gl_FragColor = packDepthToRGBA(gl_FragCoord.z);
}`;

class ParticleCloud {
  constructor(recording) {
    const p = recording.particles;
    this.data = p;
    this.frames = recording.frames;
    this.frame = -1;
    const geometry = new THREE.BufferGeometry();
    const tint = new Uint8Array(3 * p.count);
    const palette = recording.materials.map(m => linearColour(m.color));
    for (let i = 0; i < p.count; ++i) {
      const c = palette[p.material[i]];
      // Neighbours differ a little, so that a heap of one material still shows its grains.
      const vary = 0.9 + 0.2 * ((i * 0.6180339887) % 1);
      for (let k = 0; k < 3; ++k) tint[3 * i + k] = Math.min(255, Math.round(255 * vary * c.toArray()[k]));
    }
    geometry.setAttribute('position', new THREE.BufferAttribute(this.slice(p.positions, 3, 0), 3, true));
    geometry.setAttribute('next', new THREE.BufferAttribute(this.slice(p.positions, 3, 0), 3, true));
    geometry.setAttribute('tint', new THREE.BufferAttribute(tint, 3, true));
    const still = p.speeds ? null : new Uint8Array(p.count);
    geometry.setAttribute('speed', new THREE.BufferAttribute(still || this.slice(p.speeds, 1, 0), 1, true));
    geometry.setAttribute('speedNext', new THREE.BufferAttribute(still || this.slice(p.speeds, 1, 0), 1, true));
    const low = new THREE.Vector3(...p.low);
    this.uniforms = {
      low: {value: low}, edge: {value: new THREE.Vector3(...p.high).sub(low)}, blend: {value: 0}, radius: {value: p.radius},
      scale: {value: 1}, bySpeed: {value: 0}, sun: {value: new THREE.Vector3(0, 1, 0)},
    };
    this.points = new THREE.Points(geometry, new THREE.ShaderMaterial({
      uniforms: this.uniforms, vertexShader: particleVertex, fragmentShader: particleFragment, extensions: {fragDepth: true},
    }));
    this.shadowUniforms = Object.assign({}, this.uniforms, {scale: {value: 1}});
    this.points.customDepthMaterial = new THREE.ShaderMaterial({
      uniforms: this.shadowUniforms, vertexShader: particleVertex, fragmentShader: shadowFragment,
    });
    this.points.castShadow = true;
    this.points.frustumCulled = false;
    this.show(0);
  }

  slice(array, width, frame) {
    const length = width * this.data.count;
    return array.subarray(frame * length, (frame + 1) * length);
  }

  show(at) {  // frames, with a fraction
    const frame = Math.min(Math.floor(at), this.frames - 1), next = Math.min(frame + 1, this.frames - 1);
    this.uniforms.blend.value = at - frame;
    if (frame === this.frame) return;
    this.frame = frame;
    const set = (name, array) => {
      const attribute = this.points.geometry.attributes[name];
      attribute.array = array;
      attribute.needsUpdate = true;
    };
    set('position', this.slice(this.data.positions, 3, frame));
    set('next', this.slice(this.data.positions, 3, next));
    if (this.data.speeds) {
      set('speed', this.slice(this.data.speeds, 1, frame));
      set('speedNext', this.slice(this.data.speeds, 1, next));
    }
  }
}
