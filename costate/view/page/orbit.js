// One camera for all panes: turns about a target, with a little inertia.

class Orbit {
  constructor(element, onChange) {
    this.camera = new THREE.PerspectiveCamera(35, 1, 0.01, 100);
    this.target = new THREE.Vector3();
    this.onChange = onChange;
    this.spin = {theta: 0, phi: 0};
    this.pointers = new Map();
    this.fixed = false;  // a view in two dimensions is moved, never turned
    element.addEventListener('contextmenu', e => e.preventDefault());
    element.addEventListener('pointerdown', e => {
      element.setPointerCapture(e.pointerId);
      this.pointers.set(e.pointerId, e);
      this.spin = {theta: 0, phi: 0};
    });
    element.addEventListener('pointermove', e => this.drag(e, element));
    for (const end of ['pointerup', 'pointercancel']) element.addEventListener(end, e => this.pointers.delete(e.pointerId));
    element.addEventListener('wheel', e => {
      e.preventDefault();
      this.zoom(Math.exp(e.deltaY * 0.001));
    }, {passive: false});
  }

  start(eye, target, fov) {
    this.home = {eye: eye.clone(), target: target.clone(), fov};
    this.reset();
  }

  reset() {
    this.target.copy(this.home.target);
    this.camera.fov = this.home.fov;
    const offset = this.home.eye.clone().sub(this.target);
    this.radius = offset.length();
    this.theta = Math.atan2(offset.x, offset.z);
    this.phi = Math.acos(Math.min(1, Math.max(-1, offset.y / this.radius)));
    this.spin = {theta: 0, phi: 0};
    this.place();
  }

  drag(e, element) {
    const before = this.pointers.get(e.pointerId);
    if (!before) return;
    const dx = e.clientX - before.clientX, dy = e.clientY - before.clientY;
    if (this.pointers.size === 2) {
      const other = [...this.pointers.values()].find(p => p.pointerId !== e.pointerId);
      const distance = p => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
      this.zoom(Math.max(1, distance(before)) / Math.max(1, distance(e)));
      this.pan(dx / 2, dy / 2, element);
    } else if (e.buttons & 6 || e.shiftKey || this.fixed) {
      this.pan(dx, dy, element);
    } else {
      this.spin = {theta: -5 * dx / element.clientHeight, phi: -5 * dy / element.clientHeight};
      this.turn(this.spin);
    }
    this.pointers.set(e.pointerId, e);
  }

  turn(by) {
    if (this.fixed) return;
    this.theta += by.theta;
    this.phi = Math.min(Math.PI / 2 - 0.01, Math.max(0.02, this.phi + by.phi));  // never below the floor
    this.place();
  }

  pan(dx, dy, element) {
    const unit = 2 * this.radius * Math.tan(this.camera.fov * Math.PI / 360) / element.clientHeight;
    const right = new THREE.Vector3().setFromMatrixColumn(this.camera.matrix, 0);
    const up = new THREE.Vector3().setFromMatrixColumn(this.camera.matrix, 1);
    this.target.addScaledVector(right, -dx * unit).addScaledVector(up, dy * unit);
    this.place();
  }

  zoom(factor) {
    this.radius = Math.min(this.home.eye.distanceTo(this.home.target) * 12, Math.max(1e-3, this.radius * factor));
    this.place();
  }

  // Lets a thrown camera run out.
  coast(seconds) {
    if (this.pointers.size || Math.abs(this.spin.theta) + Math.abs(this.spin.phi) < 1e-4) return;
    const left = Math.exp(-8 * seconds);
    this.spin = {theta: this.spin.theta * left, phi: this.spin.phi * left};
    this.turn(this.spin);
  }

  place() {
    const s = Math.sin(this.phi);
    this.camera.position.set(s * Math.sin(this.theta), Math.cos(this.phi), s * Math.cos(this.theta))
        .multiplyScalar(this.radius).add(this.target);
    this.camera.near = this.radius / 100;
    this.camera.far = this.radius * 60;
    this.camera.lookAt(this.target);
    this.camera.updateMatrix();
    this.onChange();
  }
}
