'use strict';
// What the page was given, unpacked. Long arrays stand in elements of their own, as base64 (costate/view/replay.cpp).

function blob(id, Type) {
  const element = document.getElementById('blob' + id);
  const text = atob(element.textContent);
  element.remove();  // the text is not needed twice
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return Type === Uint8Array ? bytes : new Type(bytes.buffer);
}

function loadReplay() {
  const replay = JSON.parse(document.getElementById('replay').textContent);
  for (const r of replay.recordings) {
    r.duration = (r.frames - 1) * r.interval;
    const p = r.particles;
    if (p) {
      p.material = blob(p.material, Uint8Array);
      p.positions = blob(p.positions, Uint16Array);
      if (p.speeds !== undefined) p.speeds = blob(p.speeds, Uint8Array);
    }
    for (const b of r.bodies) {
      b.poses = blob(b.poses, Float32Array);
      if (b.shape.kind === 'mesh') {
        b.shape.vertices = blob(b.shape.vertices, Float32Array);
        b.shape.triangles = blob(b.shape.triangles, Uint32Array);
      }
    }
    for (const m of r.meshes) {
      m.triangles = blob(m.triangles, Uint32Array);
      m.vertices = blob(m.vertices, Uint16Array);
    }
    for (const i of r.images) i.values = blob(i.values, Uint8Array);
  }
  return replay;
}

function linearColour(hex) { return new THREE.Color(hex).convertSRGBToLinear(); }
function cssColour(hex) { return '#' + hex.toString(16).padStart(6, '0'); }

// Coordinates of the recording to those of three.js, whose y axis points up.
function upright(v, up) { return up === 'y' ? new THREE.Vector3(v[0], v[1], v[2]) : new THREE.Vector3(v[0], v[2], -v[1]); }
