// Numbers of cells as colours: light to dark, or two colours about zero. The graphics card blends between two frames.

const colourStops = aboutZero => aboutZero ? ['#1f4e79', '#7fa8c4', '#faf8f4', '#d99a72', '#93321a']
                                           : ['#faf8f4', '#b9d3d0', '#5f9cab', '#2b5f86', '#17264d'];
const colourBar = aboutZero => `linear-gradient(to right, ${colourStops(aboutZero).join(', ')})`;

const imageVertex = `
varying vec2 at;
void main() {
  at = uv;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.);
}`;
// Colours are mixed as the colour bar mixes them, so they are not converted again.
const imageFragment = `
uniform sampler2D now, next;
uniform float blend;
uniform vec3 stops[5];
varying vec2 at;
void main() {
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
    const geometry = new THREE.BufferGeometry(), corners = [];
    for (const [a, b] of [[0, 0], [1, 0], [1, 1], [0, 1]]) corners.push(...image.corner.map((c, k) => c + a * image.along[k] + b * image.across[k]));
    geometry.setAttribute('position', new THREE.Float32BufferAttribute(corners, 3));
    geometry.setAttribute('uv', new THREE.Float32BufferAttribute([0, 0, 1, 0, 1, 1, 0, 1], 2));
    geometry.setIndex([0, 1, 2, 0, 2, 3]);
    this.object = new THREE.Mesh(geometry, new THREE.ShaderMaterial({
      uniforms: this.uniforms, vertexShader: imageVertex, fragmentShader: imageFragment, side: THREE.DoubleSide,
    }));
    this.show(0);
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
