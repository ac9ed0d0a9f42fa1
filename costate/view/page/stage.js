// The stage: a scene per recording, drawn side by side into one canvas with one camera.

class Pane {
  constructor(recording, extent, flat) {
    this.recording = recording;
    this.scene = new THREE.Scene();
    this.sun = new THREE.Vector3(0, 1, 0);  // towards the light, as the camera sees it
    this.world = new THREE.Group();         // in the recording's own coordinates
    if (recording.up === 'z') this.world.rotation.x = -Math.PI / 2;
    this.scene.add(this.world);
    this.moving = [];
    if (recording.particles) {
      this.cloud = new ParticleCloud(recording);
      this.cloud.uniforms.sun.value = this.sun;
      this.world.add(this.cloud.points);
      this.moving.push(this.cloud);
    }
    for (const b of recording.bodies) this.add(new RigidShape(b, this.sun, flat));
    for (const m of recording.meshes) this.add(new MovingMesh(m, recording.frames, this.sun));
    this.pictures = recording.images.map(i => new FieldImage(i, recording.frames));
    for (const picture of this.pictures) {
      picture.place(recording.up, extent.centre);
      this.add(picture);
    }
    this.addLight(extent);
    if (flat) {
      const sheet = makeGrid(extent.centre, extent.radius * 1.6, extent.cell, ['x', 'y']);
      sheet.position.z = extent.centre.z - 0.02 * extent.radius;
      const ground = new THREE.Mesh(new THREE.PlaneBufferGeometry(12 * extent.radius, 0.012 * extent.radius),
                                    new THREE.MeshBasicMaterial({color: linearColour(0x8b877f)}));
      ground.position.set(extent.centre.x, recording.ground - 0.006 * extent.radius, sheet.position.z);
      this.scene.add(sheet);
      if (!recording.images.length) this.scene.add(ground);
      return;
    }
    const floor = makeFloor(extent.radius * 3.2);
    floor.position.set(extent.centre.x, recording.ground, extent.centre.z);
    const grid = makeGrid(extent.centre, extent.radius * 2.4, extent.cell, ['x', 'z']);
    grid.position.y = recording.ground;
    this.scene.add(floor, grid);
  }

  add(part) {
    this.world.add(part.object);
    this.moving.push(part);
  }

  addLight({centre, radius}) {
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0xd8cdbb, 0.86));
    const light = new THREE.DirectionalLight(0xfff1dc, 0.5);
    this.direction = new THREE.Vector3(0.42, 0.8, 0.36).normalize();
    light.position.copy(centre).addScaledVector(this.direction, 3 * radius);
    light.target.position.copy(centre);
    light.castShadow = true;
    const reach = 1.25 * radius, camera = light.shadow.camera;
    Object.assign(camera, {left: -reach, right: reach, top: reach, bottom: -reach, near: radius, far: 5 * radius});
    light.shadow.mapSize.set(1536, 1536);
    light.shadow.radius = 4;
    light.shadow.bias = -0.0012;
    if (this.cloud) this.cloud.shadowUniforms.scale.value = 1536 / (2 * reach);
    this.scene.add(light, light.target);
  }

  show(time) {
    const at = Math.min(time / this.recording.interval, this.recording.frames - 1);
    for (const part of this.moving) part.show(at);
  }
}

// The ball around everything that the recordings hold, in coordinates of three.js.
function extentOf(recordings) {
  const box = new THREE.Box3();
  for (const r of recordings) {
    const include = v => box.expandByPoint(upright(v, r.up));
    if (r.particles) { include(r.particles.low); include(r.particles.high); }
    for (const m of r.meshes) { include(m.low); include(m.high); }
    for (const i of r.images) for (const [a, b] of [[0, 0], [1, 0], [0, 1], [1, 1]]) include(i.corner.map((c, k) => c + a * i.along[k] + b * i.across[k]));
    for (const b of r.bodies) {
      if (b.shape.kind === 'plane') continue;
      const g = shapeGeometry(b.shape);
      g.computeBoundingBox();
      const {min, max} = g.boundingBox;
      for (let i = 0; i < b.poses.length; i += 7) {
        const q = new THREE.Quaternion(b.poses[i + 4], b.poses[i + 5], b.poses[i + 6], b.poses[i + 3]);
        for (let corner = 0; corner < 8; ++corner) {
          const p = new THREE.Vector3(corner & 1 ? min.x : max.x, corner & 2 ? min.y : max.y, corner & 4 ? min.z : max.z).applyQuaternion(q);
          include([b.poses[i] + p.x, b.poses[i + 1] + p.y, b.poses[i + 2] + p.z]);
        }
      }
    }
  }
  if (box.isEmpty()) box.set(new THREE.Vector3(-1, 0, -1), new THREE.Vector3(1, 1, 1));
  const ball = box.getBoundingSphere(new THREE.Sphere()), radius = Math.max(ball.radius, 1e-6);
  return {centre: ball.center, radius, cell: roundLength(radius / 2), half: box.getSize(new THREE.Vector3()).multiplyScalar(0.5)};
}

// Particles or images that all lie in one plane are a simulation in two dimensions.
const isFlat = r => r.up === 'y' && (r.particles || r.images.length > 0) &&
    (!r.particles || (r.particles.low[2] === 0 && r.particles.high[2] < 1e-5)) &&
    r.images.every(i => i.corner[2] === 0 && i.along[2] === 0 && i.across[2] === 0);

class Stage {
  constructor(canvas, replay) {
    const context = canvas.getContext('webgl2', {antialias: true, preserveDrawingBuffer: true});
    if (!context) throw new Error('This browser shows no WebGL 2, which the replay needs.');
    this.canvas = canvas;
    this.renderer = new THREE.WebGLRenderer({canvas, context, antialias: true});
    this.renderer.setScissorTest(true);
    this.renderer.autoClear = false;
    this.renderer.gammaOutput = true;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.setClearColor(0xf4f1ec);
    const extent = extentOf(replay.recordings);
    this.flat = replay.recordings.every(isFlat);
    this.cell = extent.cell;
    this.panes = replay.recordings.map(r => new Pane(r, extent, this.flat));
    this.alone = -1;
    this.stale = true;
    this.wide = 1;  // of what must be seen: width over height
    this.orbit = new Orbit(canvas, () => { this.stale = true; });
    const first = replay.recordings[0], c = first.camera;
    let eye = upright(c.eye, first.up), target = upright(c.target, first.up);
    if (eye.distanceTo(target) < 1e-9) {
      target = extent.centre.clone();
      eye = target.clone().add(new THREE.Vector3(0.55, 0.42, 1).normalize().multiplyScalar(extent.radius * 3.4));
    }
    let fov = c.fov;
    if (this.flat) {  // straight on, from so far away that nothing has depth
      fov = 4;
      target = extent.centre.clone();
      let reach = 1.12 * extent.radius;
      if (replay.recordings.every(r => r.images.length)) {  // a rectangle fills its pane
        reach = 1.2 * extent.half.y;
        this.wide = extent.half.x / extent.half.y;
      }
      eye = target.clone().add(new THREE.Vector3(0, 0, reach / Math.tan(fov * Math.PI / 360)));
      this.orbit.fixed = true;
    }
    this.orbit.start(eye, target, fov);
    window.addEventListener('resize', () => this.resize());
    this.resize();
  }

  // Legend and controls have a strip of their own below.
  size() { return {width: this.canvas.clientWidth, height: this.canvas.clientHeight}; }

  resize() {
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    const {width, height} = this.size();
    this.renderer.setSize(width, height, false);
    this.stale = true;
  }

  visible() { return this.alone < 0 ? this.panes : [this.panes[this.alone]]; }

  show(time) {
    for (const pane of this.panes) pane.show(time);
    this.stale = true;
  }

  colourBySpeed(on) {
    for (const pane of this.panes) if (pane.cloud) pane.cloud.uniforms.bySpeed.value = on ? 1 : 0;
    this.stale = true;
  }

  showField(name) {
    for (const pane of this.panes) for (const picture of pane.pictures) picture.object.visible = picture.data.name === name;
    this.stale = true;
  }

  render() {
    if (!this.stale) return;
    this.stale = false;
    const shown = this.visible(), width = this.size().width / shown.length, height = this.size().height;
    const camera = this.orbit.camera;
    camera.aspect = width / height;
    // In a narrow pane the height gives way, so that what fits the width of a square (of an image: its width) still does.
    const fov = this.orbit.home.fov * Math.PI / 360;
    camera.fov = 360 / Math.PI * Math.atan(Math.tan(fov) * Math.max(1, this.wide / camera.aspect));
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
    const pixels = this.renderer.getPixelRatio() * height;
    shown.forEach((pane, i) => {
      pane.sun.copy(pane.direction).transformDirection(camera.matrixWorldInverse);
      if (pane.cloud) pane.cloud.uniforms.scale.value = pixels * camera.projectionMatrix.elements[5] / 2;
      const x = Math.floor(i * width), w = Math.ceil(width);
      this.renderer.setViewport(x, 0, w, height);
      this.renderer.setScissor(x, 0, w, height);
      this.renderer.clear();
      this.renderer.render(pane.scene, camera);
    });
  }
}
