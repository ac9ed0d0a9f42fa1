// A ball that moves up and down over an elastic floor: contact_cut.cpp, contact_ripple.cpp.
#pragma once

// No gravity, no damping, a floor of 10,000 N/m per kilogram: the ball stays in contact for 31 ms. The rest
// is MuJoCo's default.
inline const char* const kBall = R"(
  <mujoco>
    <option gravity="0 0 0"/>
    <default><geom solref="-10000 0"/></default>
    <worldbody>
      <geom type="plane" size="1 1 1"/>
      <body name="ball" pos="0 0 0.1">
        <joint name="z" type="slide" axis="0 0 1"/>
        <geom type="sphere" size="0.1" mass="1"/>
      </body>
    </worldbody>
  </mujoco>)";
