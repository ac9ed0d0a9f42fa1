// Curves as a small chart: logarithmic where the values are positive and span more than a factor of twenty.

function drawChart(host, curves) {
  if (!curves.length) return;
  const width = 240, height = 116, left = 34, bottom = 16;
  const palette = ['#b5562b', '#3f6f8f', '#6a8f4e', '#8a5a8f'];
  const least = list => list.reduce((a, b) => Math.min(a, b), Infinity), most = list => list.reduce((a, b) => Math.max(a, b), -Infinity);
  const ys = [].concat(...curves.map(c => c.y)), xs = [].concat(...curves.map(c => c.x));
  const log = least(ys) > 0 && most(ys) > 20 * least(ys);
  const f = v => log ? Math.log10(v) : v;
  const low = f(least(ys)), high = Math.max(f(most(ys)), low + 1e-12);
  const x0 = least(xs), x1 = Math.max(most(xs), x0 + 1e-9);
  const X = x => left + (width - left) * (x - x0) / (x1 - x0), Y = y => (height - bottom) * (1 - (f(y) - low) / (high - low)) + 4;
  const short = v => Math.abs(v) >= 1e4 || (v !== 0 && Math.abs(v) < 1e-2) ? v.toExponential(0) : String(+v.toPrecision(2));
  let svg = `<svg viewBox="0 0 ${width} ${height + 10}" role="img">`;
  for (let i = 0; i <= 3; ++i) {
    const v = low + (high - low) * i / 3, value = log ? Math.pow(10, v) : v;
    svg += `<line x1="${left}" x2="${width}" y1="${Y(value)}" y2="${Y(value)}" stroke="rgba(43,42,40,.1)"/>` +
           `<text x="${left - 6}" y="${Y(value) + 3}" text-anchor="end">${short(value)}</text>`;
  }
  svg += `<text x="${left}" y="${height + 9}">${short(x0)}</text><text x="${width}" y="${height + 9}" text-anchor="end">${short(x1)}</text>` +
         `<text x="${(left + width) / 2}" y="${height + 9}" text-anchor="middle"></text>`;
  curves.forEach((c, k) => {
    const points = c.x.map((x, i) => `${X(x).toFixed(1)},${Y(c.y[i]).toFixed(1)}`);
    svg += `<polyline points="${points.join(' ')}" fill="none" stroke="${palette[k % 4]}" stroke-width="1.8" stroke-linejoin="round"/>`;
    const last = points[points.length - 1].split(',');
    svg += `<circle cx="${last[0]}" cy="${last[1]}" r="3" fill="${palette[k % 4]}"/>`;
  });
  host.innerHTML = '<h2></h2>' + svg + '</svg>';
  host.querySelector('h2').textContent = curves.map(c => c.name).join(', ') + (log ? ' (log)' : '');
  host.querySelectorAll('text')[host.querySelectorAll('text').length - 1].textContent = curves[0].x_name;
}
