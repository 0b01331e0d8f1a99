"""Carbon of federated learning: phones compute, updates travel, a server waits.

Device energy meets the grid of the device's country, the server's that of its data centre. Green FL counts
neither the making of phones nor their idle hours; add the first as a line of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carbon import _domain
from carbon._sums import exact_sum
from carbon.columns import Column
from carbon.lines import Line
from carbon.scopes import Category
from carbon.signals import GridSignal


@dataclass(frozen=True, slots=True)
class SessionEnergy:
    """Energy of one device's part in one round; the parts are disjoint."""

    compute_kwh: Column
    upload_kwh: Column
    download_kwh: Column
    network_kwh: Column

    @property
    def total_kwh(self) -> Column:
        """Sum of the parts."""
        return exact_sum((self.compute_kwh, self.upload_kwh, self.download_kwh, self.network_kwh))


def session_energy(
    *,
    compute_h: Column,
    upload_h: Column,
    download_h: Column,
    compute_kw: Column,
    upload_kw: Column,
    download_kw: Column,
    network_kw: Column,
) -> SessionEnergy:
    """Energy of one session of a device: compute, send, receive, and the network while bytes move.

    E = P_c * t_c + P_tx * t_up + P_rx * t_down + P_net * (t_up + t_down)

    Powers are above the device's idle. A device that dropped out spent its time all the same: count its
    session. Where only a router is known, its power is P_net and P_tx = P_rx = 0.

    Source: Yousefpour et al., "Green Federated Learning", arXiv 2303.14604; Wu et al., "Sustainable AI",
    MLSys 2022 (router for P_net).
    """
    _domain.nonnegative(
        compute_h=compute_h,
        upload_h=upload_h,
        download_h=download_h,
        compute_kw=compute_kw,
        upload_kw=upload_kw,
        download_kw=download_kw,
        network_kw=network_kw,
    )
    return SessionEnergy(
        compute_kwh=compute_kw * compute_h,
        upload_kwh=upload_kw * upload_h,
        download_kwh=download_kw * download_h,
        network_kwh=network_kw * np.add(upload_h, download_h),
    )


def session_kwh(
    *,
    compute_h: Column,
    upload_h: Column,
    download_h: Column,
    compute_kw: Column,
    upload_kw: Column,
    download_kw: Column,
    network_kw: Column,
) -> Column:
    """Energy of one session of a device, all parts.

    E = P_c * t_c + P_tx * t_up + P_rx * t_down + P_net * (t_up + t_down)

    Source: as `session_energy`.
    """
    return session_energy(
        compute_h=compute_h,
        upload_h=upload_h,
        download_h=download_h,
        compute_kw=compute_kw,
        upload_kw=upload_kw,
        download_kw=download_kw,
        network_kw=network_kw,
    ).total_kwh


def server_facility_kw(*, aggregator_it_kw: Column, selector_it_kw: Column, pue: Column) -> Column:
    """Power at the meter for the servers of a federated job.

    P = (P_aggregator + P_selector) * PUE

    PUE is in: what follows is energy of the facility.

    Source: Yousefpour et al., "Green Federated Learning", arXiv 2303.14604.
    """
    _domain.nonnegative(aggregator_it_kw=aggregator_it_kw, selector_it_kw=selector_it_kw)
    _domain.at_least(1.0, pue=pue)
    return (aggregator_it_kw + selector_it_kw) * pue


def device_grid_kgco2e_per_kwh(*, grid_kgco2e_per_kwh: NDArray[np.float64], sessions: Column) -> Column:
    """Grid intensity that devices in several countries meet.

    CI = sum_c(n_c * CI_c) / sum_c(n_c)

    Countries lie along the last axis; sessions are taken as equal in energy. Zero sessions leave a country
    out: this is client selection.

    Source: Yousefpour et al., "Green Federated Learning", arXiv 2303.14604 (country of the device).
    """
    _domain.nonnegative(grid_kgco2e_per_kwh=grid_kgco2e_per_kwh, sessions=sessions)
    grid, counts = np.broadcast_arrays(np.atleast_1d(grid_kgco2e_per_kwh), sessions)
    total = np.sum(counts, axis=-1)
    _domain.positive(sum_of_sessions=total)
    mixed: Column = np.sum(grid * counts, axis=-1) / total
    return mixed


@dataclass(frozen=True, slots=True)
class FederatedCarbon:
    """Operational carbon of a federated job; the parts are disjoint."""

    compute_kgco2e: Column
    upload_kgco2e: Column
    download_kgco2e: Column
    network_kgco2e: Column
    server_kgco2e: Column

    @property
    def total_kgco2e(self) -> Column:
        """Sum of the parts."""
        return exact_sum((self.compute_kgco2e, self.communication_kgco2e, self.server_kgco2e))

    @property
    def communication_kgco2e(self) -> Column:
        """What moving updates costs, on the device and in the network."""
        return exact_sum((self.upload_kgco2e, self.download_kgco2e, self.network_kgco2e))

    @property
    def outside_server_fraction(self) -> Column:
        """Share of the total that is nobody's data centre."""
        return (self.compute_kgco2e + self.communication_kgco2e) / self.total_kgco2e

    def lines(self, electricity: GridSignal) -> tuple[Line, ...]:
        """The job as lines of a ledger: the server is bought electricity, the rest is burnt by others.

        Devices use a sold product (scope 3, category 11); the network is a purchased service (category 1).

        Source: GHG Protocol, "Corporate Value Chain (Scope 3) Standard", 2011.
        """
        device, service = Category.USE_OF_SOLD_PRODUCTS, Category.PURCHASED_GOODS_AND_SERVICES
        return (
            Line("device compute", "training", 3, self.compute_kgco2e, "device", device, electricity),
            Line("device upload", "training", 3, self.upload_kgco2e, "device", device, electricity),
            Line("device download", "training", 3, self.download_kgco2e, "device", device, electricity),
            Line("public network", "network", 3, self.network_kgco2e, "network", service, electricity),
            Line("servers", "training", 2, self.server_kgco2e, "facility", electricity=electricity),
        )


def federated_carbon(
    *,
    sessions: Column,
    session_compute_kwh: Column,
    session_upload_kwh: Column,
    session_download_kwh: Column,
    session_network_kwh: Column,
    device_grid_kgco2e_per_kwh: Column,
    server_facility_kw: Column,
    server_h: Column,
    server_grid_kgco2e_per_kwh: Column,
) -> FederatedCarbon:
    """Operational carbon of a federated job.

    C = n * (E_c + E_up + E_down + E_net) * CI_device + P_server * t * CI_server

    The network is taken to lie in the device's country. Devices know no PUE; the server's is in its power.

    Source: Yousefpour et al., "Green Federated Learning", arXiv 2303.14604.
    """
    _domain.nonnegative(
        sessions=sessions,
        session_compute_kwh=session_compute_kwh,
        session_upload_kwh=session_upload_kwh,
        session_download_kwh=session_download_kwh,
        session_network_kwh=session_network_kwh,
        device_grid_kgco2e_per_kwh=device_grid_kgco2e_per_kwh,
        server_facility_kw=server_facility_kw,
        server_h=server_h,
        server_grid_kgco2e_per_kwh=server_grid_kgco2e_per_kwh,
    )
    kgco2e_of_a_kwh_each = sessions * device_grid_kgco2e_per_kwh
    return FederatedCarbon(
        compute_kgco2e=session_compute_kwh * kgco2e_of_a_kwh_each,
        upload_kgco2e=session_upload_kwh * kgco2e_of_a_kwh_each,
        download_kgco2e=session_download_kwh * kgco2e_of_a_kwh_each,
        network_kgco2e=session_network_kwh * kgco2e_of_a_kwh_each,
        server_kgco2e=server_facility_kw * server_h * server_grid_kgco2e_per_kwh,
    )
