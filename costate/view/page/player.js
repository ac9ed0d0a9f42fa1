// The player: clock, controls, keyboard, labels. Options in the address: #frame=30, #time=1.2, #speed=0.5, #paused, #pane=2, #colour=speed, #show=vorticity,
// #still (the picture alone, without controls), #film=40 (every frame at 40 a second as a JPEG in the page, for costate view --mp4).

class Player {
  constructor(replay, stage) {
    this.replay = replay;
    this.stage = stage;
    this.duration = Math.max(...replay.recordings.map(r => r.duration));
    this.interval = replay.recordings[0].interval;
    this.time = 0;
    this.speeds = [0.1, 0.25, 0.5, 1, 2, 4];
    this.speed = 1;
    this.playing = this.duration > 0;
    this.loop = true;
    this.bySpeed = false;
    this.element = id => document.getElementById(id);
    this.describe();
    this.connect();
    this.readAddress();
    this.stage.resize();
    this.setTime(this.time);
    this.setPlaying(this.playing);
    let last = performance.now();
    const tick = now => {
      const seconds = Math.min(0.1, (now - last) / 1000);
      last = now;
      if (this.playing) this.advance(seconds * this.speed);
      this.stage.orbit.coast(seconds);
      this.stage.render();
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  describe() {
    this.element('title').textContent = this.replay.title;
    for (const note of this.replay.notes) this.element('notes').appendChild(document.createElement('p')).textContent = note;
    drawChart(this.element('chart'), this.replay.curves);
    document.body.classList.toggle('charted', this.replay.curves.length > 0);
    for (const s of this.speeds) this.element('speed').add(new Option(s + ' ×', s, s === 1, s === 1));
    this.element('panes').hidden = this.replay.recordings.length < 2;
    this.fields = [...new Set([].concat(...this.replay.recordings.map(r => r.images.map(i => i.name))))];
    for (const name of this.fields) this.element('shown').add(new Option(name, name));
    this.element('shown').hidden = this.fields.length < 2;
    this.element('colours').hidden = !this.replay.recordings.some(r => r.particles && r.particles.speeds);
    this.setField(this.fields[0]);
    this.labels();
  }

  legend() {
    const host = this.element('legend');
    host.innerHTML = '';
    const row = (style, className, text) => {
      const line = host.appendChild(document.createElement('div'));
      const mark = line.appendChild(document.createElement('i'));
      mark.className = className;
      mark.style.background = style;
      line.append(text);
    };
    for (const image of [].concat(...this.replay.recordings.map(r => r.images)).filter(i => i.name === this.field).slice(0, 1)) {
      const [low, high] = [image.low, image.high].map(v => +v.toPrecision(2));
      row(colourBar(image.about_zero), 'scale', `${image.name} ${low} to ${high} ${image.unit}`);
    }
    const seen = new Set();
    const with_particles = this.replay.recordings.filter(r => r.particles);
    if (this.bySpeed) {
      const scale = Math.max(...with_particles.map(r => r.particles.speed_scale || 0));
      row('linear-gradient(to right, #303d80, #479fa5, #f9ce6f)', 'scale', `0 to ${+scale.toPrecision(2)} m/s`);
    } else {
      for (const r of with_particles) for (const m of r.materials) if (!seen.has(m.name) && seen.add(m.name)) row(cssColour(m.color), '', m.name);
    }
    // Bodies of one colour share a mark: a robot is one, whatever the number of its geoms.
    const colours = new Map();
    for (const r of this.replay.recordings) for (const b of [...r.bodies, ...r.meshes]) {
      if (!b.name || seen.has(b.name)) continue;
      seen.add(b.name);
      const colour = cssColour(b.color);
      if (!colours.has(colour)) colours.set(colour, []);
      colours.get(colour).push(b.name);
    }
    for (const [colour, names] of colours) row(colour, '', names.length < 4 ? names.join(', ') : `${names[0]} and ${names.length - 1} more`);
    const note = host.appendChild(document.createElement('small'));
    note.textContent = `grid ${+this.stage.cell.toPrecision(1)} m`;
    if (with_particles.length) {
      const {count, of} = with_particles[0].particles;
      note.textContent += ', ' + (count === of ? `${of.toLocaleString('en')} particles` : `${count.toLocaleString('en')} of ${of.toLocaleString('en')} particles shown`);
    }
  }

  labels() {
    const host = this.element('labels'), shown = this.stage.visible();
    host.innerHTML = '';
    const many = this.replay.recordings.length > 1;
    shown.forEach((pane, i) => {
      const label = host.appendChild(document.createElement('div'));
      label.className = 'label';
      label.style.left = `${100 * (i + 0.5) / shown.length}%`;
      if (many) label.appendChild(document.createElement('b')).textContent = pane.recording.title;
      label.appendChild(document.createElement('span')).textContent = pane.recording.caption;
      if (i > 0) {
        const line = host.appendChild(document.createElement('div'));
        line.className = 'divider';
        line.style.left = `${100 * i / shown.length}%`;
      }
    });
    this.element('panes').textContent = this.stage.alone < 0 ? 'all' : shown[0].recording.title || String(this.stage.alone + 1);
  }

  connect() {
    const on = (id, event, action) => this.element(id).addEventListener(event, action);
    on('play', 'click', () => this.setPlaying(!this.playing));
    on('scrub', 'input', e => { this.setPlaying(false); this.setTime(e.target.value * this.duration); });
    on('speed', 'change', e => this.setSpeed(+e.target.value));
    on('panes', 'click', () => this.setPane(this.stage.alone + 1 < this.stage.panes.length ? this.stage.alone + 1 : -1));
    on('colours', 'click', () => this.setColour(!this.bySpeed));
    on('shown', 'change', e => this.setField(e.target.value));
    on('reset', 'click', () => this.stage.orbit.reset());
    on('keys', 'click', () => this.toggleHelp());
    window.addEventListener('keydown', e => this.key(e));
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = by => { this.setPlaying(false); this.setTime(Math.round(this.time / this.interval + by) * this.interval); };
    const faster = by => this.setSpeed(this.speeds[Math.min(this.speeds.length - 1, Math.max(0, this.speeds.indexOf(this.speed) + by))]);
    const actions = {
      ' ': () => this.setPlaying(!this.playing), ArrowLeft: () => step(-1), ArrowRight: () => step(1),
      Home: () => this.setTime(0), End: () => { this.setPlaying(false); this.setTime(this.duration); },
      '+': () => faster(1), '=': () => faster(1), '-': () => faster(-1), c: () => this.setColour(!this.bySpeed),
      v: () => this.setField(this.fields[(this.fields.indexOf(this.field) + 1) % Math.max(1, this.fields.length)]),
      r: () => this.stage.orbit.reset(), l: () => { this.loop = !this.loop; }, '?': () => this.toggleHelp(),
      h: () => this.toggleHelp(), Escape: () => { this.element('help').hidden = true; }, 0: () => this.setPane(-1),
    };
    const pane = '123456789'.indexOf(e.key);
    if (actions[e.key]) actions[e.key]();
    else if (pane >= 0 && pane < this.stage.panes.length) this.setPane(pane);
    else return;
    e.preventDefault();
  }

  readAddress() {
    const options = new URLSearchParams(location.hash.slice(1));
    if (options.has('frame')) this.time = options.get('frame') * this.interval;
    if (options.has('time')) this.time = +options.get('time');
    if (options.has('frame') || options.has('time') || options.has('paused')) this.playing = false;
    if (options.has('speed')) this.setSpeed(+options.get('speed'));
    if (options.has('pane')) this.setPane(Math.min(+options.get('pane'), this.stage.panes.length) - 1);
    if (this.fields.includes(options.get('show'))) this.setField(options.get('show'));
    if (options.get('colour') === 'speed') this.setColour(true);
    if (options.has('still') || options.has('film')) document.body.classList.add('still');
    if (options.has('film')) {
      document.body.classList.add('film');
      this.stage.resize();
      this.film(+options.get('film') || 30);
    }
  }

  // Every frame as a picture, one after the other; the title says when all are there.
  film(rate) {
    this.setPlaying(false);
    const host = document.body.appendChild(document.createElement('pre'));
    host.id = 'film';
    host.hidden = true;
    const frames = Math.max(1, Math.floor(this.duration * rate) + 1);
    for (let k = 0; k < frames; ++k) {
      this.setTime(k / rate);
      this.stage.render();
      host.append(this.stage.canvas.toDataURL('image/jpeg', 0.92).split(',')[1] + '\n');
    }
  }

  advance(seconds) {
    const pause = 0.8;  // at the end, before it starts again
    let time = this.time + seconds;
    if (time > this.duration + (this.loop ? pause * this.speed : 0)) {
      if (this.loop) time = 0;
      else { time = this.duration; this.setPlaying(false); }
    }
    this.setTime(time, true);
  }

  setTime(time, past_end) {
    this.time = Math.max(0, past_end ? time : Math.min(time, this.duration)) || 0;
    const shown = Math.min(this.time, this.duration);
    this.stage.show(shown);
    const done = this.duration > 0 ? shown / this.duration : 0, scrub = this.element('scrub');
    scrub.value = done;
    scrub.style.setProperty('--done', `${100 * done}%`);
    this.element('time').textContent = `${shown.toFixed(2)} / ${this.duration.toFixed(2)} s`;
  }

  setPlaying(playing) {
    if (playing && this.time >= this.duration) this.time = 0;
    this.playing = playing && this.duration > 0;
    this.element('play').innerHTML = this.playing
        ? '<svg viewBox="0 0 12 12"><path d="M2 1h3v10H2zM7 1h3v10H7z"/></svg>'
        : '<svg viewBox="0 0 12 12"><path d="M2.5.8 11 6l-8.500 5.200z"/></svg>';
  }

  setSpeed(speed) {
    if (!(speed > 0)) return;
    this.speed = speed;
    this.element('speed').value = speed;
  }

  setColour(bySpeed) {
    this.bySpeed = bySpeed;
    this.stage.colourBySpeed(bySpeed);
    this.element('colours').textContent = bySpeed ? 'speed' : 'colour';
    this.legend();
  }

  setField(name) {
    this.field = name;
    this.stage.showField(name);
    if (name !== undefined) this.element('shown').value = name;
    this.legend();
  }

  setPane(index) {
    this.stage.alone = index;
    this.stage.stale = true;
    this.labels();
  }

  toggleHelp() {
    const help = this.element('help');
    help.hidden = !help.hidden;
  }
}

function reportTrouble(message) {
  const box = document.getElementById('trouble');
  box.hidden = false;
  box.textContent = message;
}

window.addEventListener('error', e => reportTrouble(e.message));
try {
  const replay = loadReplay();
  window.costateReplay = new Player(replay, new Stage(document.getElementById('canvas'), replay));
} catch (error) {
  reportTrouble(error.message);
  throw error;
}
