// Numbers of cells as colours: light to dark, or two colours about zero. The graphics card blends between two frames.
// Images whose name ends with ", volume" are layers of a box, across each of its axes: those across the axis that the
// camera looks along most are drawn, translucent, with more of their darkest colour where numbers are high.

const colourStops = aboutZero => aboutZero ? ['#1f4e79', '#7fa8c4', '#faf8f4', '#d99a72', '#93321a']
                                           : ['#faf8f4', '#b9d3d0', '#5f9cab', '#2b5f86', '#17264d'];
const colourBar = aboutZero => `linear-gradient(to right, ${colourStops(aboutZero).join(', ')})`;

const imageVertex = `
varying vec2 at;
varying vec3 place;
void main() {
  at = uv;
  place = (modelMatrix * vec4(position, 1.)).xyz;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.);
}`;
// Colours are mixed as the colour bar mixes them, so they are not converted again.
const imageFragment = `
uniform sampler2D now, next;
uniform float blend;
uniform vec3 stops[5];
uniform vec3 normal, middle;
uniform float density;
varying vec2 at;
varying vec3 place;
void main() {
  if (density > 0.) {
    vec3 view = abs(cameraPosition - middle);
    if (dot(view, normal) < max(view.x, max(view.y, view.z)) - 1e-6) discard;
    float share = clamp(mix(texture2D(now, at).r, texture2D(next, at).r, blend), 0., 1.);
    vec3 ray = normalize(cameraPosition - place);
    float through = 1. / max(.3, abs(dot(ray, normal)));
    gl_FragColor = vec4(mix(stops[2], stops[4], share), 1. - exp(-density * share * through));
    return;
  }
  float s = 4. * clamp(mix(texture2D(now, at).r, texture2D(next, at).r, blend), 0., 1.);
  vec3 colour = mix(stops[0], stops[1], clamp(s, 0., 1.));
  colour = mix(colour, stops[2], clamp(s - 1., 0., 1.));
  colour = mix(colour, stops[3], clamp(s - 2., 0., 1.));
  gl_FragColor = vec4(mix(colour, stops[4], clamp(s - 3., 0., 1.)), 1.);
}`;

class FieldImage {
  constructor(image, frames) {
    this.data = image;
    this.frames = frames;
    this.frame = -1;
    const texture = () => {
      const t = new THREE.DataTexture(this.slice(0), image.columns, image.rows, THREE.LuminanceFormat);
      t.magFilter = t.minFilter = THREE.LinearFilter;
      t.unpackAlignment = 1;
      return t;
    };
    this.uniforms = {
      now: {value: texture()}, next: {value: texture()}, blend: {value: 0},
      stops: {value: colourStops(image.about_zero).map(c => new THREE.Color(c))},
    };
    const geometry = new THREE.BufferGeometry(), corners = [], middle = image.corner.map((c, k) => c + 0.5 * (image.along[k] + image.across[k]));
    for (const [a, b] of [[0, 0], [1, 0], [1, 1], [0, 1]]) corners.push(...[0, 1, 2].map(k => (a - 0.5) * image.along[k] + (b - 0.5) * image.across[k]));
    geometry.setAttribute('position', new THREE.Float32BufferAttribute(corners, 3));
    geometry.setAttribute('uv', new THREE.Float32BufferAttribute([0, 0, 1, 0, 1, 1, 0, 1], 2));
    geometry.setIndex([0, 1, 2, 0, 2, 3]);
    const layers = image.name.endsWith(', volume');
    // Where the box is and how it is turned: Pane.add knows.
    Object.assign(this.uniforms, {normal: {value: new THREE.Vector3()}, middle: {value: new THREE.Vector3()}, density: {value: layers ? 0.35 : 0}});
    this.object = new THREE.Mesh(geometry, new THREE.ShaderMaterial({
      uniforms: this.uniforms, vertexShader: imageVertex, fragmentShader: imageFragment, side: THREE.DoubleSide,
      transparent: layers, depthWrite: !layers,
    }));
    this.object.position.set(...middle);  // what is translucent is drawn from the back to the front
    this.object.renderOrder = layers ? 1 : 0;  // and in front of the floor's lines
    this.show(0);
  }

  // In coordinates of three.js: across the image, and the middle of the box that layers fill.
  place(up, middle) {
    const along = upright(this.data.along, up), across = upright(this.data.across, up);
    const normal = along.cross(across).normalize();
    this.uniforms.normal.value.set(Math.abs(normal.x), Math.abs(normal.y), Math.abs(normal.z));
    this.uniforms.middle.value.copy(middle);
  }

  slice(frame) {
    const length = this.data.columns * this.data.rows;
    return this.data.values.subarray(frame * length, (frame + 1) * length);
  }

  show(at) {
    const frame = Math.min(Math.floor(at), this.frames - 1), next = Math.min(frame + 1, this.frames - 1);
    this.uniforms.blend.value = at - frame;
    if (frame === this.frame) return;
    this.frame = frame;
    const set = (texture, data) => {
      texture.image.data = data;
      texture.needsUpdate = true;
    };
    set(this.uniforms.now.value, this.slice(frame));
    set(this.uniforms.next.value, this.slice(next));
  }
}
